package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"
	"syscall"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Composite is the content of a file that shows many arrays. What it says of them is as it was
// when the file was opened; their bytes are those of now. An array is opened when its first bytes
// are read.
type Composite struct {
	h    *zarrcore.Hierarchy
	file *hdf5.File
	of   *netcdf.Description

	mu    sync.Mutex
	parts map[*hdf5.Dataset]part // those that are open
}

// A CompositeView shows the arrays below a group, or one array, in a file whose structure follows
// from theirs. Programs write to the bytes of the arrays, and cannot change the structure.
type CompositeView interface {
	View
	// OpenMany is Open of a file with that layout.
	OpenMany(ctx context.Context, h *zarrcore.Hierarchy, path string, l netcdf.Layout) (*Composite,
		error)
	// Mark says of which state of what is at path the file would be made.
	Mark(ctx context.Context, h *zarrcore.Hierarchy, path string) (string, error)
}

// IsComposite reports whether v is such a view.
func IsComposite(v View) bool {
	_, many := v.(CompositeView)
	return many
}

// Plain returns the view that shows an array's bytes alone.
func Plain() ArrayView { return rawView{} }

// part is the content of a dataset. Its bytes are those of the file's stretch.
type part interface {
	// read returns the n bytes at off, or an error.
	read(ctx context.Context, off, n int64) (*Found, error)
	// nextData is NextData of a Content.
	nextData(ctx context.Context, off int64) (start, end int64, err error)
	// isAway reports whether the array is not at path any more.
	isAway(ctx context.Context, path string) bool
	rights() store.Rights
	close()
}

// newComposite returns the content of the file that shows what is described.
func newComposite(
	h *zarrcore.Hierarchy,
	of *netcdf.Description,
	flavour netcdf.Flavour,
) (*Composite, error) {
	naming := hdf5.KeepDatasets
	if flavour == netcdf.NetCDF4 {
		naming = hdf5.KeepDimensions
	}
	f, err := hdf5.Layout(of.Root, of.Block, naming)
	if err != nil {
		return nil, tooLarge(err)
	}
	return &Composite{h: h, file: f, of: of, parts: make(map[*hdf5.Dataset]part)}, nil
}

// IsLike reports whether the bytes of both come from the same places, and always will.
func (c *Composite) IsLike(ctx context.Context, of *Composite) bool {
	same := c.Size() == of.Size() && bytes.Equal(c.file.Meta, of.file.Meta) &&
		len(c.file.Extents) == len(of.file.Extents)
	for i := 0; same && i < len(c.file.Extents); i++ {
		was, now := c.file.Extents[i], of.file.Extents[i]
		same = was.Off == now.Off && c.of.Sources[was.Of].Path == of.of.Sources[now.Of].Path
	}
	return same && !c.hasMoved(ctx)
}

// hasMoved reports whether an array that was opened is not at its path any more.
func (c *Composite) hasMoved(ctx context.Context) bool {
	c.mu.Lock()
	parts := maps.Clone(c.parts)
	c.mu.Unlock()
	for d, p := range parts {
		if p.isAway(ctx, c.of.Sources[d].Path) {
			return true
		}
	}
	return false
}

// tooLarge marks an error that says that a file would have too many bytes.
func tooLarge(err error) error {
	if errors.Is(err, hdf5.ErrTooLarge) {
		return fmt.Errorf("%w: %w", errno.ErrTooBig, err)
	}
	return err
}

// Left returns what the file lacks of the hierarchy, and why.
func (c *Composite) Left() []error { return c.of.Left }

// Nodes returns the nodes whose documents the file shows.
func (c *Composite) Nodes() []*zarrcore.Node { return c.of.Nodes }

// Size implements Content.
func (c *Composite) Size() int64 { return c.file.Size }

// Array implements Content: there are many.
func (c *Composite) Array() *zarrcore.Array { return nil }

// Rights implements Content.
func (c *Composite) Rights() (all store.Rights) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		all = all.And(p.rights())
	}
	return all
}

// Close implements Content.
func (c *Composite) Close() {
	c.mu.Lock()
	parts := maps.Clone(c.parts)
	clear(c.parts)
	c.mu.Unlock()
	for _, p := range parts {
		p.close()
	}
}

// Stretches calls yield for each stretch of [off, off+n) that belongs to one dataset, to the
// metadata, or to none of them, in order. An error of yield ends it.
func (c *Composite) Stretches(off, n int64, yield func(Piece) error) error {
	for n > 0 {
		p := c.at(off)
		p.N = min(p.N, n)
		if err := yield(p); err != nil {
			return err
		}
		off, n = off+p.N, n-p.N
	}
	return nil
}

// Piece is a stretch of a composite.
type Piece struct {
	Off, N int64         // in bytes of what it belongs to
	Of     *hdf5.Dataset // nil: of the metadata, or of nothing if IsGap
	IsGap  bool          // it belongs to nothing and is zero
}

// at returns the longest stretch of one kind from off on.
func (c *Composite) at(off int64) Piece {
	if metadata := int64(len(c.file.Meta)); off < metadata {
		return Piece{Off: off, N: metadata - off}
	}
	all := c.file.Extents
	i := sort.Search(len(all), func(i int) bool { return all[i].Off+all[i].Size > off })
	if i == len(all) {
		return Piece{Off: off, N: c.file.Size - off, IsGap: true}
	}
	if off < all[i].Off {
		return Piece{Off: off, N: all[i].Off - off, IsGap: true}
	}
	off -= all[i].Off
	return Piece{Off: off, N: all[i].Size - off, Of: all[i].Of}
}

// zeros is what lies between metadata and datasets, as often as it takes.
var zeros [64 << 10]byte

// Read implements Content.
func (c *Composite) Read(ctx context.Context, off, n int64) (*Found, error) {
	r := &Found{}
	err := c.Stretches(off, n, func(p Piece) error {
		found, err := c.readPiece(ctx, p)
		if err == nil {
			r.add(found)
		}
		return err
	})
	if err != nil {
		r.Done()
		return nil, err
	}
	return r, nil
}

func (c *Composite) readPiece(ctx context.Context, p Piece) (*Found, error) {
	switch {
	case p.IsGap:
		r := &Found{}
		for r.N < int(p.N) {
			n := min(int(p.N)-r.N, len(zeros))
			r.Slices, r.N = append(r.Slices, zeros[:n]), r.N+n
		}
		return r, nil
	case p.Of == nil:
		return &Found{Slices: [][]byte{c.file.Meta[p.Off : p.Off+p.N]}, N: int(p.N)}, nil
	}
	of, err := c.part(ctx, p.Of)
	if err != nil {
		return nil, placeOf(c.of.Sources[p.Of], err)
	}
	r, err := of.read(ctx, p.Off, p.N)
	if err != nil && c.isRemade(ctx, of, c.of.Sources[p.Of]) {
		err = fmt.Errorf("%w: the file shows %q, which was recreated; open the file again (%v)",
			syscall.ESTALE, c.of.Sources[p.Of].Path, err)
	}
	return r, placeOf(c.of.Sources[p.Of], err)
}

// isRemade reports whether the array that an open part shows is another one by now, also one in
// other chunks. Its objects look corrupt then.
func (c *Composite) isRemade(ctx context.Context, of part, s netcdf.Source) bool {
	shows, ok := of.(interface{ Array() *zarrcore.Array })
	if !ok {
		return false
	}
	now, err := c.h.OpenArray(ctx, s.Path)
	was := shows.Array()
	return err == nil && was.Path() == s.Path &&
		(was.IsOtherThan(now) || !slices.Equal(was.Chunk(), now.Chunk()))
}

// placeOf returns the error of an array, which may be that it was removed.
func placeOf(s netcdf.Source, err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return ErrNoPlace(s.Path)
	}
	return err
}

// ErrNoPlace says that the array at path, which a file shows, was removed.
func ErrNoPlace(path string) error {
	return fmt.Errorf("%w: the file shows %q, which was removed; open the file again",
		syscall.ESTALE, path)
}

// part returns the content of a dataset.
func (c *Composite) part(ctx context.Context, d *hdf5.Dataset) (part, error) {
	c.mu.Lock()
	p := c.parts[d]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := c.openPart(ctx, c.of.Sources[d])
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.parts[d]; first != nil {
		p.close()
		return first, nil
	}
	c.parts[d] = p
	return p, nil
}

func (c *Composite) openPart(ctx context.Context, s netcdf.Source) (part, error) {
	if s.Width > 0 {
		return openStrings(ctx, c.h, s)
	}
	flat, err := OpenFlat(ctx, c.h, s.Path, rawView{})
	if err != nil {
		return nil, err
	}
	p := &flatPart{flat, s}
	if err := p.check(ctx); err != nil {
		flat.Close()
		return nil, err
	}
	if s.Form != nil {
		return &formedPart{p, s.Form}, nil
	}
	if s.Grid != nil {
		return stackedPart{p}, nil
	}
	return p, nil
}

// Source returns the array of which a dataset shows the bytes as they are. ok is false if it shows
// them in another form.
func (c *Composite) Source(d *hdf5.Dataset) (s netcdf.Source, ok bool) {
	s = c.of.Sources[d]
	return s, s.Width == 0 && s.Form == nil
}

// Opened returns the array of such a dataset as reads have opened it. What is written must go to
// the same one, even if a rename has given its path to another array: programs write back what they
// have read.
func (c *Composite) Opened(ctx context.Context, d *hdf5.Dataset) (*zarrcore.Array, error) {
	p, err := c.part(ctx, d)
	if err != nil {
		return nil, placeOf(c.of.Sources[d], err)
	}
	switch p := p.(type) {
	case *flatPart:
		return p.Array(), p.check(ctx)
	case stackedPart:
		return p.Array(), p.check(ctx)
	}
	return nil, syscall.EPERM
}

// Places yields which bytes of an array of such a dataset a piece is, and where they begin in the
// piece. Padding of chunks is left out.
func (c *Composite) Places(p Piece) iter.Seq2[int64, Stretch] {
	grid := c.of.Sources[p.Of].Grid
	return func(yield func(int64, Stretch) bool) {
		if grid == nil {
			yield(0, Stretch{Off: p.Off, N: p.N})
			return
		}
		for at, r := range grid.StackedRuns(p.Off, p.N) {
			if !yield(at-p.Off, Stretch{Off: r.Off, N: r.Len}) {
				return
			}
		}
	}
}

// IsMetadata reports whether the metadata from off on say what p says.
func (c *Composite) IsMetadata(p []byte, off int64) bool { return c.file.IsMetadata(p, off) }

// CheckArray returns why an array cannot be the one that a file shows any more; nil if it can.
func CheckArray(s netcdf.Source, arr *zarrcore.Array) error {
	if arr.IsRemoved() {
		return ErrNoPlace(s.Path)
	}
	was, now := s.Meta, arr.Meta()
	same := len(was.Shape) == len(now.Shape) && was.Type.Size == now.Type.Size &&
		was.Type.Descr() == now.Type.Descr()
	for i := 1; same && i < len(was.Shape); i++ {
		same = was.Shape[i] == now.Shape[i]
	}
	if same && (len(was.Shape) == 0 || now.Shape[0] >= was.Shape[0]) {
		return nil
	}
	return fmt.Errorf(
		"%w: the file shows %q as %s of shape %v, it is %s of shape %v now; open the file again",
		syscall.ESTALE,
		s.Path,
		was.Type.Descr(),
		was.Shape,
		now.Type.Descr(),
		now.Shape,
	)
}

// flatPart is an array whose bytes are those of the dataset. It follows the array as long as that
// has the rows that the file shows.
type flatPart struct {
	*Flat
	of netcdf.Source
}

func (p *flatPart) check(ctx context.Context) error {
	p.Array().Arrive(ctx)
	return CheckArray(p.of, p.Array())
}

func (p *flatPart) read(ctx context.Context, off, n int64) (*Found, error) {
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	r, err := p.Read(ctx, off, n)
	if err != nil {
		return nil, err
	}
	if err = p.check(ctx); err == nil && int64(r.N) != n {
		err = fmt.Errorf("%w: %q was truncated", syscall.ESTALE, p.of.Path)
	}
	if err != nil {
		r.Done()
		return nil, err
	}
	return r, nil
}

func (p *flatPart) nextData(ctx context.Context, off int64) (start, end int64, err error) {
	return p.NextData(ctx, off)
}

func (p *flatPart) isAway(ctx context.Context, path string) bool {
	p.Array().Arrive(ctx)
	return p.Array().IsRemoved() || p.Array().Path() != path
}

func (p *flatPart) rights() store.Rights { return p.Rights() }
func (p *flatPart) close()               { p.Close() }

// formedPart is an array whose elements the dataset has in another form.
type formedPart struct {
	*flatPart
	form *netcdf.Form
}

func (p *formedPart) read(ctx context.Context, off, n int64) (*Found, error) {
	from, to := off/p.form.Out, (off+n+p.form.Out-1)/p.form.Out // elements
	r, err := p.flatPart.read(ctx, from*p.form.In, (to-from)*p.form.In)
	if err != nil {
		return nil, err
	}
	defer r.Done()
	formed := make([]byte, (to-from)*p.form.Out)
	p.form.Convert(formed, r.Bytes(nil))
	off -= from * p.form.Out
	return &Found{Slices: [][]byte{formed[off : off+n]}, N: int(n)}, nil
}

func (p *formedPart) nextData(ctx context.Context, off int64) (start, end int64, err error) {
	start, end, err = p.NextData(ctx, off/p.form.Out*p.form.In)
	return max(off, start/p.form.In*p.form.Out), (end + p.form.In - 1) / p.form.In * p.form.Out, err
}

// stringsPart is an array of strings of no fixed size.
type stringsPart struct {
	arr *zarrcore.VlenArray
	of  netcdf.Source
}

func openStrings(ctx context.Context, h *zarrcore.Hierarchy, s netcdf.Source) (part, error) {
	arr, err := h.OpenVlen(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	arr.Open()
	return &stringsPart{arr, s}, nil
}

func (p *stringsPart) read(ctx context.Context, off, n int64) (*Found, error) {
	width := p.of.Width * p.arr.Kind().Unit()
	from := off - off%width
	texts := make([]byte, off+n-from+(width-(off+n)%width)%width)
	if err := p.fill(ctx, texts, from); err != nil {
		return nil, err
	}
	if p.of.Form != nil {
		p.of.Form.Convert(texts, texts)
	}
	return &Found{Slices: [][]byte{texts[off-from : off-from+n]}, N: int(n)}, nil
}

// fill reads the strings at off, unless one is longer now than those of the file.
func (p *stringsPart) fill(ctx context.Context, texts []byte, off int64) error {
	found, err := p.arr.Count(ctx)
	if err == nil && found.Width > p.of.Width {
		err = fmt.Errorf(
			"%w: a string of %q is longer now than those of the file; open it again",
			syscall.ESTALE,
			p.of.Path,
		)
	}
	if err != nil {
		return err
	}
	n, err := p.arr.ReadFixed(ctx, texts, off, p.of.Width)
	if n == len(texts) {
		return nil
	}
	return fmt.Errorf("%w: %q was truncated: %w", syscall.ESTALE, p.of.Path, err)
}

func (p *stringsPart) nextData(_ context.Context, off int64) (start, end int64, err error) {
	return off, p.arr.Len() * p.of.Width * p.arr.Kind().Unit(), nil
}

func (p *stringsPart) isAway(_ context.Context, path string) bool { return p.arr.Path() != path }

func (p *stringsPart) rights() store.Rights { return p.arr.ObjectRights() }
func (p *stringsPart) close()               { p.arr.Close() }

// NextData implements Content. All but the bytes of arrays is data.
func (c *Composite) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	for off < c.file.Size {
		p := c.at(off)
		if p.Of == nil {
			return off, off + p.N, nil
		}
		of, err := c.part(ctx, p.Of)
		if err != nil {
			return 0, 0, err
		}
		start, end, err := of.nextData(ctx, p.Off)
		if err != nil {
			return 0, 0, err
		}
		if start < p.Off+p.N {
			return off + start - p.Off, off + min(end, p.Off+p.N) - p.Off, nil
		}
		off += p.N
	}
	return c.file.Size, c.file.Size, nil
}
