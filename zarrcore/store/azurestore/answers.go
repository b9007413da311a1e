package azurestore

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// verdicts are what codes of errors mean that the status alone does not say.
var verdicts = map[string]remote.Kind{
	"BlobNotFound":             remote.Missing,
	"ContainerNotFound":        remote.NoStore,
	"ContainerBeingDeleted":    remote.NoStore, // comes with 409
	"ResourceNotFound":         remote.NoStore, // also of what is not public, if nobody asks
	"AccountIsDisabled":        remote.NoStore,
	"PublicAccessNotPermitted": remote.Denied, // comes with 409

	"InvalidAuthenticationInfo": remote.Expired,
	"AuthenticationFailed":      remote.Expired,
	"BlobArchived":              remote.Refused, // comes with 409
	"BlobBeingRehydrated":       remote.Refused,
}

// Judge goes by the code of the error, which is in the header, too, where there is no body.
func (d *dialect) Judge(a *remote.Answer) remote.Verdict {
	v := d.Plain.Judge(a)
	if v.Kind == remote.Fine && isDirectory(a.Header) {
		v.Kind = remote.Directory
	}
	e := remote.ReadXMLError(a)
	if e.Code == "" {
		e.Code = a.Header.Get("X-Ms-Error-Code")
	}
	v.Text = e.Text(v.Text)
	kind, known := verdicts[e.Code]
	switch {
	case known:
		v.Kind = kind
	case a.Status == http.StatusUnauthorized:
		v.Kind = remote.Expired
	case a.Status == http.StatusBadRequest && remote.IsTooLong(a.Path):
		v.Kind = remote.Missing
	}
	return v
}

// isDirectory reports whether an answer is about a directory of an account that has such, with a
// hierarchical namespace.
func isDirectory(h http.Header) bool {
	return h.Get("X-Ms-Resource-Type") == "directory" || h.Get("X-Ms-Meta-Hdi_isfolder") == "true"
}

// listed is the answer to List Blobs.
type listed struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Blobs   []struct {
		Name       name `xml:"Name"`
		Properties struct {
			Modified string `xml:"Last-Modified"`
			ETag     string `xml:"Etag"`
			Size     int64  `xml:"Content-Length"`
			Type     string `xml:"ResourceType"`
		} `xml:"Properties"`
	} `xml:"Blobs>Blob"`
	Dirs []struct {
		Name name `xml:"Name"`
	} `xml:"Blobs>BlobPrefix"`
	Next string `xml:"NextMarker"`
}

// name is a name in a listing.
type name struct {
	Encoded bool   `xml:"Encoded,attr"` // because XML cannot have it
	Text    string `xml:",chardata"`
}

// plain returns the name as it is.
func (n name) plain() string {
	if decoded, err := url.PathUnescape(n.Text); err == nil && n.Encoded {
		return decoded
	}
	return n.Text
}

// Page reads the answer to a listing.
func (d *dialect) Page(dir string, a *remote.Answer) (remote.Page, error) {
	var l listed
	if err := xml.Unmarshal(a.Body, &l); err != nil {
		return remote.Page{}, store.ErrCannotList
	}
	p := d.place.Page(dir)
	p.Next = l.Next
	for _, below := range l.Dirs {
		p.AddDir(below.Name.plain())
	}
	for _, b := range l.Blobs {
		if b.Properties.Type == "directory" { // it comes as a BlobPrefix, too
			p.IsDir = true
			continue
		}
		at, _ := time.Parse(http.TimeFormat, b.Properties.Modified)
		tag := `"` + strings.Trim(b.Properties.ETag, `"`) + `"` // as the fields of answers have it
		p.AddObject(b.Name.plain(), store.Info{Size: b.Properties.Size, Version: tag, ModTime: at})
	}
	return p, nil
}
