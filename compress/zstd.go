package compress

import (
	"errors"

	"github.com/zarrfs/zarrfs/compress/zstd"
)

// Zstd decodes one or more Zstandard frames (RFC 8878), with or without content sizes, checksums and skippable frames between them.
type Zstd struct{}

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

// corruptZstd is an error of package zstd, whose text says already that the data is corrupt, as an ErrCorrupt.
type corruptZstd struct{ error }

func (e corruptZstd) Unwrap() []error { return []error{ErrCorrupt, e.error} }
