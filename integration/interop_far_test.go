package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// farServers are ways to serve stores of a folder. Each returns the URL of the folder.
func farServers() map[string]func(t *testing.T, folder string, names *regexp.Regexp) string {
	servers := map[string]func(*testing.T, string, *regexp.Regexp) string{}
	for name, c := range clouds {
		servers[name] = func(t *testing.T, folder string, names *regexp.Regexp) string {
			s := c.start(t)
			s.SetEnv(t)
			stores, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, store := range stores {
				if names.MatchString(store.Name()) {
					s.FillFolder(t, "stores/"+store.Name()+"/", filepath.Join(folder, store.Name()))
				}
			}
			return c.url(s, "stores")
		}
	}
	for _, s := range nginxServers {
		if strings.Contains(s.block, "autoindex") {
			servers["nginx, "+s.name] = func(t *testing.T, folder string, _ *regexp.Regexp) string {
				needServer(t, "nginx")
				return strings.TrimSuffix(nginx(t, folder, s.block, s.url), "/s.zarr")
			}
		}
	}
	return servers
}

// TestInteropFar compares the arrays of TestInterop byte for byte, each through mounts of URLs. It
// takes a few of their stores, or all with ZARRFS_INTEROP_FAR=1.
func TestInteropFar(t *testing.T) {
	py, out := interopStores(t)
	names := interopNames
	if os.Getenv("ZARRFS_INTEROP_FAR") == "" {
		names = regexp.MustCompile(`^(zarr1-f8be|zarr2-hierarchy)$`)
	}
	for name, serve := range farServers() {
		t.Run(name, func(t *testing.T) {
			url := serve(t, filepath.Join(out, "stores"), names)
			compareAllAt(t, py, out, names, func(store string) string {
				return url + "/" + store
			})
		})
	}
}
