package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// otherServers are web servers beside nginx, with the usual ways to make indexes with them. FOLDER,
// PORT and OWN stand for the folder that is served, the port, and a folder for the server's own
// files.
var otherServers = []struct {
	name    string
	program []string
	conf    string
}{
	{"Apache, plain index", apacheCommand, apacheConf},
	{"Apache, fancy index", apacheCommand, apacheConf + "IndexOptions FancyIndexing\n"},
	{"Apache, table", apacheCommand, apacheConf +
		"IndexOptions FancyIndexing HTMLTable FoldersFirst NameWidth=*\n"},
	{"Apache, short names", apacheCommand, apacheConf +
		"IndexOptions FancyIndexing NameWidth=8\nIndexOrderDefault Descending Date\n"},
	{"Apache, no index", apacheCommand,
		apacheConf + "<Location />\nOptions -Indexes\n</Location>\n"},
	{"Apache, ETags of content", apacheCommand, apacheConf + "FileETag Digest\n"},
	{"Caddy, index", caddyCommand, caddyConf("file_server browse")},
	{"Caddy, no index", caddyCommand, caddyConf("file_server")},
	{"Caddy, compressed", caddyCommand, caddyConf("encode gzip\nfile_server browse")},
}

var (
	apacheCommand = []string{"apache2", "-X", "-f", "OWN/conf"}
	caddyCommand  = []string{"caddy", "run", "--config", "OWN/conf", "--adapter", "caddyfile"}
)

const apacheConf = `
ServerRoot OWN
ServerName 127.0.0.1
Listen 127.0.0.1:PORT
PidFile OWN/pid
ErrorLog OWN/errors
Mutex file:OWN
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
User www-data
Group www-data
DocumentRoot FOLDER
<Directory />
Options +Indexes
Require all granted
</Directory>
`

func caddyConf(does string) string {
	return "{\nadmin off\nauto_https off\nlog {\noutput file OWN/errors\n}\n}\n" +
		"http://127.0.0.1:PORT {\nroot * FOLDER\n" + does + "\n}\n"
}

// TestOtherWebServers: a store behind Apache or Caddy has the same files and values as its folder,
// with each kind of index and without one.
func TestOtherWebServers(t *testing.T) {
	needServer(t, "apache2")
	needServer(t, "caddy")
	store := consolidatedStore(t, python(t, "ZARRFS_PY3", ".venv-v3"), "3")
	want := valuesOf(t, mountedTree(t, store, "--read-only"))
	for _, s := range otherServers {
		t.Run(s.name, func(t *testing.T) {
			url := webServer(t, filepath.Dir(store), s.program, s.conf) + "/s.zarr"
			sameTree(t, valuesOf(t, mountedTree(t, url)), want)
		})
	}
}

// TestIndexesOfOtherServers: where Apache or Caddy makes an index, a store without consolidated
// metadata is listed by it, with names that need escapes.
func TestIndexesOfOtherServers(t *testing.T) {
	needServer(t, "apache2")
	needServer(t, "caddy")
	store := treeStore(t)
	for _, name := range []string{"a b&c", "50%", "naïve", "a+b", "#1", "semi;colon", "quote's"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "3", "--dtype", "i4")
	}
	want := mountedTree(t, store, "--read-only")
	for _, s := range otherServers {
		if strings.Contains(s.name, "no index") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			url := webServer(t, filepath.Dir(store), s.program, s.conf) + "/s.zarr"
			sameTree(t, mountedTree(t, url), want)
		})
	}
}

// webServer serves a folder, and returns the URL.
func webServer(t *testing.T, folder string, program []string, conf string) string {
	t.Helper()
	own, port := t.TempDir(), freePort(t)
	letIn(t, own, folder)
	words := strings.NewReplacer("FOLDER", folder, "PORT", port, "OWN", own)
	err := os.WriteFile(filepath.Join(own, "conf"), []byte(words.Replace(conf)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	args := make([]string, len(program))
	for i, arg := range program {
		args[i] = words.Replace(arg)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+own, "XDG_DATA_HOME="+own, "XDG_CONFIG_HOME="+own)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	awaitPort(t, port, filepath.Join(own, "errors"))
	return "http://127.0.0.1:" + port
}

// letIn lets every user into folders of tests, because Apache does not serve as root.
func letIn(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		for ; filepath.Dir(folder) != filepath.Clean(os.TempDir()); folder = filepath.Dir(folder) {
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
