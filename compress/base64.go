package compress

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// Base64 decodes standard base64 with padding; line ends in it are ignored.
type Base64 struct{}

// Decode implements Decoder.
func (Base64) Decode(dst, src []byte) (int, error) {
	text := bytes.TrimRight(src, "\r\n")
	digits := len(text) - bytes.Count(text, []byte{'\n'}) - bytes.Count(text, []byte{'\r'})
	padding := len(text) - len(bytes.TrimRight(text, "="))
	size := int64(digits)/4*3 - int64(padding)
	if size > int64(len(dst)) {
		return 0, fmt.Errorf("%w: base64 object decodes to %d bytes, expected at most %d",
			ErrTooLarge, size, len(dst))
	}
	if size < 0 || digits%4 != 0 {
		return 0, corrupt("base64 object of %d digits with %d of padding, expected a multiple of "+
			"4 with at most 2", digits, padding)
	}
	n, err := base64.StdEncoding.Decode(dst[:size:size], text)
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return n, nil
}

// Encode implements Encoder.
func (Base64) Encode(dst, src []byte) ([]byte, error) {
	return base64.StdEncoding.AppendEncode(dst, src), nil
}
