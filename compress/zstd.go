package compress

import (
	"errors"

	"github.com/zarrfs/zarrfs/compress/zstd"
)

// Zstd decodes one or more Zstandard frames (RFC 8878), with or without content sizes, checksums
// and skippable frames between them. It encodes one frame, which states its content's size.
type Zstd struct {
	Level    int  // as zstd has it, from negative ones to 22; 0 means 3
	Checksum bool // the frame carries a checksum of its content
}

// Decode implements Decoder.
func (Zstd) Decode(dst, src []byte) (int, error) {
	n, err := zstd.Decode(dst, src)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, zstd.ErrTooLarge):
		return 0, tooLarge("zstd", len(dst))
	case errors.Is(err, zstd.ErrCorrupt):
		return 0, corruptZstd{err}
	}
	return 0, err
}

// corruptZstd makes an error of package zstd an ErrCorrupt. The text of that error already says
// that the data is corrupt.
type corruptZstd struct{ error }

func (e corruptZstd) Unwrap() []error { return []error{ErrCorrupt, e.error} }
