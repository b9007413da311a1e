package view

import (
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// headerMost is the longest header of a .npy file that is looked for, in bytes.
const headerMost = 1 << 20

// ReadHeader reads the header of a file, which must have as many bytes as that says.
func ReadHeader(
	v HeaderView, name string, file Written,
) (header npy.Info, t dtype.Type, err error) {
	head, err := io.ReadAll(io.NewSectionReader(file, 0, headerMost))
	if err != nil {
		return header, t, err
	}
	if header, err = v.Parse(head); err != nil {
		return header, t, fmt.Errorf("%w: %s: %w", iofs.ErrInvalid, name, err)
	}
	if t, err = dtype.ParseDescr(header.Descr); err != nil {
		return header, t, err
	}
	size, err := ArraySize(&zarrcore.Node{Meta: &meta.Array{Shape: header.Shape, Type: t}})
	if found := file.Size - header.Len; err == nil && found != size {
		err = fmt.Errorf("%w: %s: expected %d bytes after the header, found %d", iofs.ErrInvalid,
			name, size, found)
	}
	return header, t, err
}
