package httpstore

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Environment variables that credentials are taken from.
const (
	envHeaders  = "ZARRFS_HTTP_HEADERS" // a file with header fields
	envToken    = "ZARRFS_HTTP_TOKEN"
	envUser     = "ZARRFS_HTTP_USER"
	envPassword = "ZARRFS_HTTP_PASSWORD"
)

// Credentials say where the header fields come from that a server knows its users by. Without
// HeaderFile it is the environment, and otherwise the file netrc.
type Credentials struct {
	HeaderFile string // lines "Name: value"
}

// An account has the credentials for one host.
type account struct {
	source Credentials
	host   string

	mu    sync.Mutex
	found http.Header
	from  string // where they were found; "" if nowhere
}

// load finds the credentials for a host.
func (c Credentials) load(host string) (*account, error) {
	a := &account{source: c, host: host}
	var err error
	a.found, a.from, err = c.find(host)
	return a, err
}

// find looks in one place after the other.
func (c Credentials) find(host string) (http.Header, string, error) {
	if file := cmp.Or(c.HeaderFile, os.Getenv(envHeaders)); file != "" {
		h, err := readHeaders(file)
		return h, "the file " + file, err
	}
	if token := os.Getenv(envToken); token != "" {
		return http.Header{"Authorization": {"Bearer " + token}}, envToken, nil
	}
	if user := os.Getenv(envUser); user != "" {
		return basic(user, os.Getenv(envPassword)), envUser, nil
	}
	path := netrcPath()
	user, password, ok, err := readNetrc(path, host)
	if !ok || err != nil {
		return nil, "", err
	}
	return basic(user, password), path, nil
}

// basic returns the header of basic authentication (RFC 7617).
func basic(user, password string) http.Header {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header
}

// Authorize adds the credentials to a request.
func (a *account) Authorize(r *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(r.Header, a.found)
	return nil
}

// Renew looks for credentials again, and reports whether there are others.
func (a *account) Renew(context.Context) bool {
	found, from, err := a.source.find(a.host)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil || maps.EqualFunc(found, a.found, slices.Equal) {
		return false
	}
	a.found, a.from = found, from
	return true
}

// Credentials implements remote.Account.
func (a *account) Credentials() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.from == "" {
		return fmt.Sprintf("no credentials were sent: %s has none for %s, nor have %s, %s, %s",
			netrcPath(), a.host, envToken, envUser, envHeaders)
	}
	return "those of " + a.from + " were sent"
}

// readHeaders reads a file of header fields. Lines that begin with # are comments.
func readHeaders(path string) (http.Header, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of header fields: %w", err)
	}
	h := http.Header{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%s: each line is expected as Name: value", path)
		}
		h[textproto.CanonicalMIMEHeaderKey(name)] = []string{strings.TrimSpace(value)}
	}
	return h, nil
}

// netrcPath returns where the file netrc is.
func netrcPath() string {
	if path := os.Getenv("NETRC"); path != "" {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "~/.netrc"
	}
	return filepath.Join(home, ".netrc")
}

// readNetrc returns the login of a host, or the default one, in the format of ftp(1).
func readNetrc(path, host string) (user, password string, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	defer f.Close()
	words := netrcWords(bufio.NewScanner(f))
	isOurs := false
	for i := 0; i < len(words); i++ {
		var value string
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			if ok {
				return user, password, true, nil
			}
			isOurs = strings.EqualFold(value, host)
			i++
		case "default":
			if ok {
				return user, password, true, nil
			}
			isOurs = true
		case "login", "password", "account":
			if isOurs {
				ok = true
				switch words[i] {
				case "login":
					user = value
				case "password":
					password = value
				}
			}
			i++
		}
	}
	return user, password, ok, nil
}

// netrcWords splits a netrc file. Macros and comments are left out.
func netrcWords(lines *bufio.Scanner) (words []string) {
	inMacro := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
			inMacro = false
		case inMacro || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "macdef"):
			inMacro = true
		default:
			words = append(words, strings.Fields(line)...)
		}
	}
	return words
}
