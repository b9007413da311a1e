package cloud

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// AzureAccount and AzureKey are the account that Azurite has by itself.
const (
	AzureAccount = "devstoreaccount1"
	AzureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/" +
		"KBHBeksoGMGw=="
)

// Azurite starts an Azurite, which keeps objects in memory.
func Azurite(t testing.TB) *Server {
	t.Helper()
	program, port := find(t, "azurite-blob"), freePort(t)
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Bucket: "test-container"}
	s.Env = []string{
		"AZURE_STORAGE_CONNECTION_STRING=AccountName=" + AzureAccount + ";AccountKey=" + AzureKey +
			";BlobEndpoint=" + s.URL + "/" + AzureAccount + ";",
	}
	s.put = s.putAzure
	s.run(t, nil, program, "--blobHost", "127.0.0.1", "--blobPort", strconv.Itoa(port),
		"--inMemoryPersistence", "--silent", "--disableTelemetry",
		"--skipApiVersionCheck")
	s.makeContainer(t)
	return s
}

// makeContainer makes the container.
func (s *Server) makeContainer(t testing.TB) {
	t.Helper()
	r, err := s.azure("/"+s.Bucket+"?restype=container", 0, "", "\nrestype:container")
	if err == nil {
		err = send(r)
	}
	if err != nil {
		s.fatal(t, err)
	}
}

// putAzure builds the request that stores an object.
func (s *Server) putAzure(key string, data []byte) (*http.Request, error) {
	path := "/" + s.Bucket + "/" + remote.Escape(key)
	return s.azure(path, len(data), "x-ms-blob-type:BlockBlob\n", "")
}

// azure builds a request to store something, signed by the account's key. fields are those of Azure
// that come before the date, and query is what is signed of the query.
func (s *Server) azure(path string, size int, fields, query string) (*http.Request, error) {
	where := s.URL + "/" + AzureAccount + path
	r, err := http.NewRequest(http.MethodPut, where, bytes.NewReader(make([]byte, size)))
	if err != nil {
		return nil, err
	}
	if fields != "" {
		r.Header.Set("x-ms-blob-type", "BlockBlob")
	}
	date, length := time.Now().UTC().Format(http.TimeFormat), ""
	if size > 0 {
		length = strconv.Itoa(size)
	}
	r.Header.Set("x-ms-date", date)
	r.Header.Set("x-ms-version", "2021-02-12")
	text := "PUT\n\n\n" + length + "\n\n\n\n\n\n\n\n\n" + fields + "x-ms-date:" + date +
		"\nx-ms-version:2021-02-12\n/" + AzureAccount + r.URL.EscapedPath() + query
	r.Header.Set("Authorization", "SharedKey "+AzureAccount+":"+azureSum(text))
	return r, nil
}

// AzureSignature returns a shared access signature, with which the container can be read and listed
// until a time. It is a query. See
// https://learn.microsoft.com/rest/api/storageservices/create-service-sas.
func (s *Server) AzureSignature(until time.Time) string {
	end := until.UTC().Format(time.RFC3339)
	const version = "2021-02-12"
	fields := []string{
		"rl", "", end, "/blob/" + AzureAccount + "/" + s.Bucket, "", "", "", version, "c", "", "",
		"", "", "", "", "",
	}
	q := url.Values{"sp": {"rl"}, "se": {end}, "sv": {version}, "sr": {"c"}}
	q.Set("sig", azureSum(strings.Join(fields, "\n")))
	return q.Encode()
}

// azureSum is the signature of a text by the account's key.
func azureSum(text string) string {
	key, err := base64.StdEncoding.DecodeString(AzureKey)
	if err != nil {
		panic(err) // the key is a constant
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
