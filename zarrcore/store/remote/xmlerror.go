package remote

import (
	"bytes"
	"encoding/xml"
	"strings"
)

// An XMLError is the body of an error as S3, Google Cloud Storage and Azure write it. Of the rest
// of the body nothing is taken: it may hold signatures and names of keys.
type XMLError struct {
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
	Region  string `xml:"Region"` // of S3: where the bucket is
}

// ReadXMLError reads the error that an answer has. Of any other answer it is the zero XMLError.
func ReadXMLError(a *Answer) XMLError {
	if len(a.Body) == 0 {
		return XMLError{}
	}
	var found struct {
		XMLName xml.Name `xml:"Error"`
		XMLError
	}
	if xml.NewDecoder(bytes.NewReader(a.Body)).Decode(&found) != nil {
		return XMLError{}
	}
	e := found.XMLError
	e.Message, _, _ = strings.Cut(strings.TrimSpace(e.Message), "\n")
	return e
}

// Text adds to the text of a verdict what the error says.
func (e XMLError) Text(text string) string {
	switch {
	case e.Code == "":
		return text
	case e.Message == "":
		return text + " (" + e.Code + ")"
	}
	return text + " (" + e.Code + ": " + strings.TrimSuffix(e.Message, ".") + ")"
}
