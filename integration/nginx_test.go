package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	plainURL    = "http://127.0.0.1:PORT/s.zarr"
	secureURL   = "https://127.0.0.1:PORT/s.zarr"
	secureBlock = `listen 127.0.0.1:PORT ssl;
		ssl_certificate OWN/cert.pem; ssl_certificate_key OWN/key.pem;`
)

// nginxServers are ways to serve a folder that people use. The test puts the folder's name, two
// ports, and the folder of its own files in place of the words in capitals.
var nginxServers = []struct {
	name  string
	url   string // of the store
	block string // of its server
}{
	{"index", plainURL, `LISTEN; autoindex on;`},
	{"JSON index", plainURL, `LISTEN; autoindex on; autoindex_format json;`},
	{"no index", plainURL + "/", `LISTEN;`},
	{"compressed", plainURL, `LISTEN; gzip on; gzip_types *; gzip_min_length 0;`},
	{"no ranges", plainURL, `LISTEN; max_ranges 0;`},
	{"no ETag", plainURL, `LISTEN; etag off;`},
	{"redirect", "http://127.0.0.1:PORT/old/s.zarr", `LISTEN;
		location /old/ { rewrite ^/old/(.*)$ http://localhost:PORT/$1 redirect; }`},
	{"password", plainURL, `LISTEN; autoindex on;
		auth_basic "data"; auth_basic_user_file OWN/users;`},
	{"TLS", secureURL, secureBlock + `autoindex on;`},
	{"zip", plainURL + ".zip", `LISTEN;`},
}

// TestNginx: a store behind nginx, in the ways in which people serve one, has the same files and
// values as its folder.
func TestNginx(t *testing.T) {
	needServer(t, "nginx")
	need(t, "zip")
	py := python(t, "ZARRFS_PY3", ".venv-v3")
	for _, format := range []string{"2", "3"} {
		store := consolidatedStore(t, py, format)
		run(t, "sh", "-c", "cd "+store+" && zip -q -0 -r ../s.zarr.zip .")
		want := valuesOf(t, mountedTree(t, store, "--read-only"))
		for _, s := range nginxServers {
			t.Run("format "+format+", "+s.name, func(t *testing.T) {
				url := nginx(t, filepath.Dir(store), s.block, s.url)
				sameTree(t, valuesOf(t, mountedTree(t, url)), want)
			})
		}
	}
}

// TestNginxRefusals: what the command says of a store that nginx does not give, without secrets.
func TestNginxRefusals(t *testing.T) {
	needServer(t, "nginx")
	store := treeStore(t)
	block := `LISTEN; autoindex on; auth_basic "data"; auth_basic_user_file OWN/users;`
	url := nginx(t, filepath.Dir(store), block, plainURL)
	secure := nginx(t, filepath.Dir(store), secureBlock, secureURL)
	wrong := map[string]string{"ZARRFS_HTTP_USER": "me", "ZARRFS_HTTP_PASSWORD": "secret1"}
	nobody := map[string]string{"SSL_CERT_FILE": "/dev/null"}
	netrc := os.Getenv("NETRC")
	for _, c := range []struct {
		name, url string
		env       map[string]string
		want      string
	}{
		{"no password", url, map[string]string{"NETRC": "/nonexistent"},
			"no credentials were sent"},
		{"wrong password", url, wrong, "those of ZARRFS_HTTP_USER were sent"},
		{"wrong token", url, map[string]string{"ZARRFS_HTTP_TOKEN": "secret1"},
			"those of ZARRFS_HTTP_TOKEN were sent"},
		{"password in the URL", strings.Replace(url, "//", "//me:secret1@", 1), nil,
			"put them into ~/.netrc"},
		{"unknown authority", secure, nobody, "SSL_CERT_FILE"},
		{"no TLS", strings.Replace(secure, "https", "http", 1), nil, "400 Bad Request"},
		{"TLS", strings.Replace(url, "http", "https", 1), nil, "is it an http:// URL?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NETRC", netrc)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			out, err := command(zarrfs(t), "info", c.url)
			text := string(out)
			saysIt := strings.Contains(text, c.want) && !strings.Contains(text, "secret1")
			if err == nil || !saysIt {
				t.Errorf("%v, want an error with %q and no secret:\n%s", err, c.want, text)
			}
		})
	}
}

// needServer skips a test aloud if the program of its server is missing. ZARRFS_REQUIRE_PEERS=1
// forbids that.
func needServer(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: ", err)
	}
}

// nginx serves a folder, and returns the URL with the port that it got.
func nginx(t *testing.T, folder, block, url string) string {
	t.Helper()
	own, port := t.TempDir(), freePort(t)
	words := strings.NewReplacer("LISTEN", "listen 127.0.0.1:"+port, "PORT", port, "OWN", own)
	conf := fmt.Sprintf(`user root; daemon off; pid OWN/pid; error_log OWN/errors;
events {}
http {
	access_log off; default_type application/octet-stream;
	client_body_temp_path OWN; proxy_temp_path OWN; fastcgi_temp_path OWN;
	uwsgi_temp_path OWN; scgi_temp_path OWN;
	server { root %s; %s }
}`, folder, block)
	for name, text := range map[string]string{
		"conf":  words.Replace(conf),
		"users": "me:{PLAIN}pa55word\n",
		"netrc": "machine 127.0.0.1\n\tlogin me password pa55word\n",
	} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificate(t, own)
	t.Setenv("NETRC", filepath.Join(own, "netrc"))
	t.Setenv("SSL_CERT_FILE", filepath.Join(own, "cert.pem"))
	cmd := exec.Command("nginx", "-c", filepath.Join(own, "conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	awaitPort(t, port, filepath.Join(own, "errors"))
	return words.Replace(url)
}

// freePort returns a port at which no program listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// awaitPort waits until a program listens at a port.
func awaitPort(t *testing.T, port, errors string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(errors)
			t.Fatalf("the server does not listen: %v\n%s", err, text)
		}
	}
}

// writeCertificate writes a certificate for this machine, and its key.
func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zarrfs test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
