package s3store

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// verdicts are what codes of errors mean that the status alone does not say.
var verdicts = map[string]remote.Kind{
	"NoSuchKey":               remote.Missing,
	"KeyTooLongError":         remote.Missing,
	"XMinioInvalidObjectName": remote.Missing, // of an element that is too long
	"KeyTooLong":              remote.Missing,
	"NoSuchBucket":            remote.NoStore,
	"AllAccessDisabled":       remote.NoStore,

	"ExpiredToken":          remote.Expired,
	"ExpiredTokenException": remote.Expired,
	"InvalidToken":          remote.Expired,
	"TokenRefreshRequired":  remote.Expired,
	"RequestExpired":        remote.Expired,
	"InvalidAccessKeyId":    remote.Expired, // of a key that was replaced

	"SlowDown":               remote.Busy,
	"Throttling":             remote.Busy,
	"ThrottlingException":    remote.Busy,
	"TooManyRequests":        remote.Busy,
	"RequestLimitExceeded":   remote.Busy,
	"BandwidthLimitExceeded": remote.Busy,
	"InternalError":          remote.Passing,
	"RequestTimeout":         remote.Passing, // comes with status 400
	"OperationAborted":       remote.Passing, // and this one with 409

	"InvalidObjectState":   remote.Refused, // comes with 403: the object is in an archive
	"RequestTimeTooSkewed": remote.Refused,
}

// Judge goes by the code of the error. A bucket of another region is a reason to ask there.
func (d *dialect) Judge(a *remote.Answer) remote.Verdict {
	v := d.Plain.Judge(a)
	e := remote.ReadXMLError(a)
	v.Text = e.Text(v.Text)
	kind, known := verdicts[e.Code]
	switch {
	case d.isElsewhere(a, v.Kind, e):
		v.Kind = remote.Expired
	case known:
		v.Kind = kind
	case a.Status == http.StatusConflict:
		v.Kind = remote.Passing
	case a.Status == http.StatusForbidden && e.Code == "":
		v.Kind = remote.Expired // which may be why: it says no more
	}
	return v
}

// isElsewhere reports whether an answer says that the bucket is in another region than was asked,
// and notes which one.
func (d *dialect) isElsewhere(a *remote.Answer, k remote.Kind, e remote.XMLError) bool {
	region := a.Header.Get("X-Amz-Bucket-Region")
	switch e.Code {
	case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		if region == "" {
			region = e.Region
		}
	case "PermanentRedirect", "TemporaryRedirect":
	default:
		if k != remote.Elsewhere && a.Status != http.StatusBadRequest {
			return false
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if region == "" || region == d.region {
		return false
	}
	d.said = region
	return true
}

// listed is the answer to ListObjectsV2.
type listed struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Encoding string   `xml:"EncodingType"`
	Prefix   string   `xml:"Prefix"`
	Objects  []struct {
		Key          string    `xml:"Key"`
		LastModified time.Time `xml:"LastModified"`
		ETag         string    `xml:"ETag"`
		Size         int64     `xml:"Size"`
	} `xml:"Contents"`
	Dirs []struct {
		Prefix string `xml:"Prefix"`
	} `xml:"CommonPrefixes"`
	IsTruncated bool   `xml:"IsTruncated"`
	Next        string `xml:"NextContinuationToken"`
}

// Page reads the answer to a listing.
func (d *dialect) Page(dir string, a *remote.Answer) (remote.Page, error) {
	var l listed
	if err := xml.Unmarshal(a.Body, &l); err != nil {
		return remote.Page{}, store.ErrCannotList
	}
	plain := func(key string) string {
		if decoded, err := url.QueryUnescape(key); err == nil && l.Encoding == "url" {
			return decoded
		}
		return key
	}
	p := d.place.Page(dir)
	for _, c := range l.Dirs {
		p.AddDir(plain(c.Prefix))
	}
	for _, o := range l.Objects {
		info := store.Info{Size: o.Size, Version: o.ETag, ModTime: o.LastModified}
		p.AddObject(plain(o.Key), info)
	}
	if l.IsTruncated {
		p.Next = l.Next
	}
	return p, nil
}
