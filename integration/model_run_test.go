package integration

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// slots are the handles of a run: each has its view and its way to write.
var slots = []struct {
	view string
	flag int
}{
	{".raw", os.O_RDWR}, {".npy", os.O_RDWR}, {".raw", os.O_RDWR}, {".raw", os.O_RDWR | os.O_SYNC},
	{".raw", os.O_RDONLY}, {".npy", os.O_RDONLY},
}

// handle is an open file, with a mapping that was made of it once and stays until it is closed.
type handle struct {
	*os.File
	header int64 // bytes before the array's
	view   string
	write  bool
	sync   bool
	mapped []byte

	fortran bool // its bytes are in another order than the model's
}

// modelRun is a run under way.
type modelRun struct {
	vol  volume
	want expected
	open []*handle // by slot; nil: closed
	row  int64
}

// runModel does the operations and returns the first that went wrong.
func runModel(script []op, vol volume) (err error) {
	spec := vol.spec()
	r := &modelRun{vol: vol, want: expected{fill: spec.fill}, open: make([]*handle, len(slots)),
		row: spec.rowBytes()}
	r.want.now = spec.fill(spec.Shape[0] * r.row)
	r.want.ack()
	defer r.closeAll()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for i, o := range script {
		if err := r.guarded(o); err != nil {
			return fmt.Errorf("operation %d, %v: %w", i, o, err)
		}
	}
	if err := r.closeAll(); err != nil {
		return fmt.Errorf("the last close: %w", err)
	}
	return vol.finish(r.want.now)
}

// guarded turns a fault of a mapping into an error.
func (r *modelRun) guarded(o op) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
		}
	}()
	return r.do(o)
}

func (r *modelRun) do(o op) error {
	switch o.do {
	case "remount":
		return errors.Join(r.closeAll(), r.vol.restart(), r.compareAll())
	case "kill":
		return r.kill(o)
	case "document":
		return r.document(o)
	case "outside":
		return r.outside(o)
	}
	h, err := r.handle(o.slot)
	if err != nil {
		return err
	}
	switch o.do {
	case "write":
		return r.write(h, o)
	case "read":
		return r.read(h, o)
	case "load":
		return r.load(h, o)
	case "store", "storekill":
		return r.store(h, o)
	case "append":
		return r.append(o)
	case "resize":
		return r.resize(h, o)
	case "punch":
		return r.punch(h, o)
	case "gap":
		return r.gap(h, o)
	case "dirty":
		return r.dirty(h, o)
	case "ragged":
		return r.ragged(h, o)
	case "fsync":
		return r.fsync(h)
	case "close":
		return r.close(o.slot)
	case "size":
		return r.size(h)
	case "all":
		return r.compareAll()
	}
	return fmt.Errorf("no operation %q", o.do)
}

// handle opens the slot if it is closed.
func (r *modelRun) handle(slot int) (*handle, error) {
	if r.open[slot] != nil {
		return r.open[slot], nil
	}
	s := slots[slot]
	if r.vol.path(s.view) == "" {
		s.view = ".raw"
	}
	f, err := os.OpenFile(r.vol.path(s.view), s.flag, 0)
	if err != nil {
		return nil, err
	}
	h := &handle{File: f, view: s.view, write: s.flag&os.O_RDWR != 0, sync: s.flag&os.O_SYNC != 0}
	if s.view == ".npy" {
		if h.header, h.fortran, err = npyHeader(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	r.open[slot] = h
	return h, nil
}

// npyHeader returns how long the header is and which order it names.
func npyHeader(f io.ReaderAt) (length int64, fortran bool, err error) {
	start := make([]byte, 10)
	if _, err := f.ReadAt(start, 0); err != nil {
		return 0, false, fmt.Errorf("header: %w", err)
	}
	text := make([]byte, binary.LittleEndian.Uint16(start[8:]))
	if _, err := f.ReadAt(text, 10); err != nil {
		return 0, false, fmt.Errorf("header: %w", err)
	}
	return 10 + int64(len(text)), bytes.Contains(text, []byte("'fortran_order': True")), nil
}

// span is a stretch of the array: mostly short, at times long, at times up to the end.
func (r *modelRun) span(o op) (at, n int64) {
	size := int64(len(r.want.now))
	if size == 0 {
		return 0, 0
	}
	at = int64(o.a % uint64(size))
	limit := []int64{64, 5000, size, 2 * r.row}[o.c%4]
	return at, min(1+int64(o.b%uint64(max(1, limit))), size-at)
}

// content is what is written: noise that compresses, and at times the fill value.
func (r *modelRun) content(o op, n int64) []byte {
	if o.c%11 == 0 {
		return r.vol.spec().fill(n)
	}
	rng := rand.New(rand.NewPCG(o.a, o.c))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.IntN(1 << (1 + o.c%8)))
	}
	return data
}

func (r *modelRun) write(h *handle, o op) error {
	at, n := r.span(o)
	if !h.write || n == 0 {
		return nil
	}
	data := r.content(o, n)
	if _, err := h.WriteAt(data, h.header+at); err != nil {
		return caller(err)
	}
	r.wrote(h, at, data)
	if h.sync {
		r.want.ack()
	}
	return nil
}

// wrote notes in the model what was written at a place of the handle's file.
func (r *modelRun) wrote(h *handle, at int64, data []byte) {
	if !h.fortran {
		r.want.write(at, data)
		return
	}
	for n := int64(1); len(data) > 0; at, data = at+n, data[n:] {
		n = min(int64(len(data)), r.vol.spec().Type.Size-at%r.vol.spec().Type.Size)
		r.want.write(r.place(at), data[:n])
	}
}

// compare compares what was read at a place of the handle's file with the model.
func (r *modelRun) compare(h *handle, found []byte, at int64) error {
	if !h.fortran {
		return r.want.compare(found, at)
	}
	want := make([]byte, len(found))
	for i := range want {
		want[i] = r.want.now[r.place(at+int64(i))]
	}
	if !bytes.Equal(found, want) {
		return fmt.Errorf("[%d, %d) in Fortran order: %s",
			at, at+int64(len(found)), difference(found, want))
	}
	return nil
}

// place returns where a byte of the file in Fortran order is in C order.
func (r *modelRun) place(at int64) int64 {
	spec := r.vol.spec()
	rest, index := at/spec.Type.Size, int64(0)
	for axis, n := range spec.Shape {
		if axis == 0 {
			n = int64(len(r.want.now)) / r.row
		}
		index = index*n + rest%n
		rest /= n
	}
	return index*spec.Type.Size + at%spec.Type.Size
}

func (r *modelRun) read(h *handle, o op) error {
	at, n := r.span(o)
	buf := make([]byte, n+8) // the last bytes may lie behind the end
	got, err := h.ReadAt(buf, h.header+at)
	if err != nil && err != io.EOF {
		return caller(err)
	}
	if want := min(n+8, int64(len(r.want.now))-at); int64(got) != want {
		return fmt.Errorf("read %d bytes at %d, expected %d", got, at, want)
	}
	return r.compare(h, buf[:got], at)
}

// load reads through the handle's old mapping.
func (r *modelRun) load(h *handle, o op) error {
	at, n := r.span(o)
	if n == 0 {
		return nil
	}
	if h.mapped == nil {
		const room = 1 << 22 // more than any array of a run has
		prot := unix.PROT_READ
		if h.write {
			prot |= unix.PROT_WRITE
		}
		m, err := unix.Mmap(int(h.Fd()), 0, room, prot, unix.MAP_SHARED)
		if err != nil {
			return caller(err)
		}
		h.mapped = m
	}
	if err := r.size(h); err != nil { // after that the kernel knows the end of the mapping
		return err
	}
	return r.compare(h, slices.Clone(h.mapped[h.header+at:h.header+at+n]), at)
}

// put writes through a mapping, and nothing more.
func (r *modelRun) put(h *handle, o op) error {
	at, n := r.span(o)
	if err := r.load(h, o); err != nil {
		return err
	}
	data := r.content(o, n)
	copy(h.mapped[h.header+at:], data)
	r.wrote(h, at, data)
	return nil
}

// dirty writes through a mapping, and changes the array in another way before that is synced.
func (r *modelRun) dirty(h *handle, o op) error {
	at, n := r.span(o)
	if !h.write || n == 0 {
		return nil
	}
	if err := r.put(h, o); err != nil {
		return err
	}
	other := op{o.do, o.slot, o.b, o.c, o.a}
	var err error
	switch o.c / 16 % 4 {
	case 0:
		err = r.append(other)
	case 1:
		err = r.document(other)
	case 2:
		// otherwise the new part of the dirty page is zero
		if fill := r.vol.spec().Type.Bytes; h.view != ".raw" || strings.Trim(fill, "\x00") == "" {
			err = r.resizeBy(".raw", other)
		}
	case 3:
		var w *handle
		if w, err = r.handle(0); err == nil && (w == h || !h.fortran && r.apart(at, n, other)) {
			err = r.write(w, other)
		}
	}
	return errors.Join(err, r.fsync(h), r.compareAll())
}

// apart reports whether an operation is on other bytes than [at, at+n).
func (r *modelRun) apart(at, n int64, o op) bool {
	off, length := r.span(o)
	return off+length <= at || at+n <= off
}

// resizeBy truncates or extends the array by the name of a view.
func (r *modelRun) resizeBy(view string, o op) error {
	rows, ok := r.otherLength(o)
	if !ok {
		return nil
	}
	if err := os.Truncate(r.vol.path(view), rows*r.row); err != nil {
		return caller(err)
	}
	r.want.resize(rows * r.row)
	return nil
}

// otherLength picks a length of axis 0, unless it is too much.
func (r *modelRun) otherLength(o op) (rows int64, ok bool) {
	now := int64(len(r.want.now)) / r.row
	rows = int64(o.a % uint64(now+now/4+3))
	return rows, rows*r.row <= 1<<20
}

// document changes the length of axis 0 in the array's document. If the document has this length
// already, nothing changes, even while the array has another length that is not stored yet.
func (r *modelRun) document(o op) error {
	rows, ok := r.otherLength(o)
	if !ok || !r.vol.rows() {
		return nil
	}
	path := r.vol.path(".json")
	text, err := os.ReadFile(path)
	if err != nil {
		return caller(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return caller(err)
	}
	resizes := doc["shape"].([]any)[0] != float64(rows)
	doc["shape"].([]any)[0] = rows
	if text, err = json.Marshal(doc); err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	if err != nil {
		return caller(err)
	}
	if resizes {
		r.want.resize(rows * r.row)
		r.want.ack()
	}
	return nil
}

// gap writes a row beyond the end: what lies between is the fill value.
func (r *modelRun) gap(h *handle, o op) error {
	now := int64(len(r.want.now))
	if !h.write || h.fortran || now > 1<<19 {
		return nil
	}
	at := now + r.row*int64(1+o.a%7)
	data := r.content(o, r.row)
	if _, err := h.WriteAt(data, h.header+at); err != nil {
		return caller(err)
	}
	r.want.write(at, data)
	if h.sync {
		r.want.ack()
	}
	return r.size(h)
}

// store writes through a mapping. Then it has the bytes stored in one of several ways, or kills the
// daemon before.
func (r *modelRun) store(h *handle, o op) error {
	if _, n := r.span(o); !h.write || n == 0 {
		return nil
	}
	if err := r.put(h, o); err != nil {
		return err
	}
	if o.do == "storekill" {
		return r.kill(o)
	}
	if o.b%3 == 0 { // a read of the same file sees it before it is stored
		if err := r.read(h, o); err != nil {
			return err
		}
	}
	if o.b%2 == 0 {
		return r.fsync(h)
	}
	if err := unix.Msync(h.mapped, unix.MS_SYNC); err != nil {
		return caller(err)
	}
	r.want.ack()
	return nil
}

// append appends rows as a shell's >> does.
func (r *modelRun) append(o op) error {
	if len(r.want.now) > 1<<20 {
		return nil
	}
	f, err := os.OpenFile(r.vol.path(".raw"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return caller(err)
	}
	data := r.content(o, r.row*int64(1+o.a%5))
	at := int64(len(r.want.now))
	for rest := data; len(rest) > 0; { // in pieces that are not rows
		n := min(len(rest), 1+int(o.b%uint64(2*r.row)))
		if _, err := f.Write(rest[:n]); err != nil {
			f.Close()
			return caller(err)
		}
		rest = rest[n:]
	}
	r.want.write(at, data)
	if err := f.Close(); err != nil {
		return caller(err)
	}
	r.want.ack()
	return nil
}

func (r *modelRun) resize(h *handle, o op) error {
	rows, ok := r.otherLength(o)
	if !ok {
		return nil
	}
	size := h.header + rows*r.row
	var err error
	if h.fortran { // its end is not a whole row
		size -= h.header
		err = os.Truncate(r.vol.path(".raw"), size)
	} else if h.write && o.b%2 == 0 {
		err = h.Truncate(size)
	} else {
		err = os.Truncate(r.vol.path(h.view), size)
	}
	if err != nil {
		return caller(err)
	}
	r.want.resize(rows * r.row)
	return r.size(h)
}

// punch makes zero bytes.
func (r *modelRun) punch(h *handle, o op) error {
	at, n := r.span(o)
	if !h.write || n == 0 {
		return nil
	}
	err := unix.Fallocate(int(h.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
		h.header+at, n)
	if err != nil {
		return caller(err)
	}
	r.wrote(h, at, make([]byte, n))
	return nil
}

// ragged leaves a fraction of a row at an fsync, which is dropped with EINVAL; and cannot truncate
// within a row.
func (r *modelRun) ragged(h *handle, o op) error {
	if !h.write || h.sync || h.fortran || r.row < 2 || !r.vol.rows() {
		return nil
	}
	size := h.header + int64(len(r.want.now))
	if err := h.Truncate(size + 1 + int64(o.a%uint64(r.row-1))); !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("a truncation to a fraction of a row: %v, expected EINVAL", err)
	}
	if _, err := h.WriteAt(r.content(o, 1+int64(o.a%uint64(r.row-1))), size); err != nil {
		return caller(err)
	}
	if err := h.Sync(); !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("fsync with a fraction of a row: %v, expected EINVAL", err)
	}
	if err := r.size(h); err != nil {
		return err
	}
	return r.fsync(h)
}

func (r *modelRun) fsync(h *handle) error {
	if !h.write {
		return nil
	}
	if err := h.Sync(); err != nil {
		return caller(err)
	}
	r.want.ack()
	return nil
}

// size compares the size by handle and by name.
func (r *modelRun) size(h *handle) error {
	byHandle, err := h.Stat()
	byName, err2 := os.Stat(r.vol.path(h.view))
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if want := h.header + int64(len(r.want.now)); byHandle.Size() != want || byName.Size() != want {
		return fmt.Errorf("%s has %d bytes by its handle and %d by its name, expected %d",
			h.view, byHandle.Size(), byName.Size(), want)
	}
	return nil
}

func (r *modelRun) close(slot int) error {
	h := r.open[slot]
	r.open[slot] = nil
	if h == nil {
		return nil
	}
	if h.mapped != nil {
		unix.Munmap(h.mapped)
	}
	if err := h.Close(); err != nil {
		return caller(err)
	}
	if h.write {
		r.want.ack()
	}
	return nil
}

func (r *modelRun) closeAll() (err error) {
	for slot := range r.open {
		err = errors.Join(err, r.close(slot))
	}
	return err
}

// compareAll reads all views from their beginnings to their ends.
func (r *modelRun) compareAll() error {
	for _, view := range []string{".raw", ".npy"} {
		if path := r.vol.path(view); path != "" {
			if err := r.compareFile(path, view); err != nil {
				return fmt.Errorf("%s: %w", view, err)
			}
		}
	}
	return nil
}

func (r *modelRun) compareFile(path, view string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var h handle
	if view == ".npy" {
		if h.header, h.fortran, err = npyHeader(bytes.NewReader(data)); err != nil {
			return err
		}
	}
	if data = data[h.header:]; len(data) != len(r.want.now) {
		return fmt.Errorf("%d bytes of data, expected %d", len(data), len(r.want.now))
	}
	return r.compare(&h, data, 0)
}

// kill lets the daemon die, and checks what a new one finds, at times also after the array has
// grown again.
func (r *modelRun) kill(o op) error {
	if err := r.drop(r.vol.kill); err != nil {
		return err
	}
	found, err := os.ReadFile(r.vol.path(".raw"))
	if err != nil {
		return caller(err)
	}
	before := r.want
	if err := r.want.survive(found); err != nil {
		return err
	}
	if most := before.longest(); most > int64(len(found)) {
		return r.uncover(&before, most)
	}
	if o.b%2 == 0 && len(found) < 1<<19 {
		grown := int64(len(found)) + r.row*int64(1+o.b%9)
		if err := os.Truncate(r.vol.path(".raw"), grown); err != nil {
			return caller(err)
		}
		r.want.resize(grown)
	}
	return r.compareAll()
}

// uncover lets the array grow to what it was before the daemon died. Rows not counted yet may then
// have bytes that were written and not acknowledged. Their other bytes must be acknowledged ones
// or the fill value.
func (r *modelRun) uncover(before *expected, size int64) error {
	f, err := os.OpenFile(r.vol.path(".raw"), os.O_RDWR, 0)
	if err != nil {
		return caller(err)
	}
	defer f.Close()
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil {
		return caller(err)
	}
	found, err := io.ReadAll(f)
	if err != nil {
		return caller(err)
	}
	if lost := before.lost(found); lost >= 0 || int64(len(found)) != size {
		return fmt.Errorf("after a kill and growth to %d bytes there are %d, "+
			"byte %d was never that since the last acknowledged flush", size, len(found), lost)
	}
	r.want.now = found
	r.want.ack()
	return r.compareAll()
}

// drop closes all handles after a failure, and ignores the errors.
func (r *modelRun) drop(something func() error) error {
	held := slices.Clone(r.open)
	clear(r.open)
	err := something()
	for _, h := range held {
		if h != nil && h.mapped != nil {
			unix.Munmap(h.mapped)
		}
		if h != nil {
			h.Close()
		}
	}
	return err
}

// outside stores all, and lets another program replace an object by another. A program that opens
// the file then sees it.
func (r *modelRun) outside(o op) error {
	from, to, ok := twoObjects(r.vol.spec(), int64(len(r.want.now))/r.row, o)
	if !ok {
		return nil
	}
	if err := r.closeAll(); err != nil {
		return err
	}
	w, err := r.handle(0)
	if err == nil {
		err = r.fsync(w) // also the rest of a truncation by name
	}
	if err = errors.Join(err, r.close(0)); err != nil {
		return err
	}
	r.vol.outside(from, to)
	copyBox(r.want.now, r.vol.spec(), from, to)
	r.want.ack()
	return r.compareAll()
}

// twoObjects picks two whole objects of an array of so many rows.
func twoObjects(s arraySpec, rows int64, o op) (from, to []int64, ok bool) {
	for axis, size := range s.objects() {
		n := s.Shape[axis]
		if axis == 0 {
			n = rows
		}
		if n/size == 0 {
			return nil, nil, false
		}
		from, to = append(from, int64(o.a>>axis)%(n/size)), append(to, int64(o.b>>axis)%(n/size))
	}
	return from, to, !slices.Equal(from, to)
}

// copyBox copies what one object covers to what another covers, in the bytes of the array in C
// order.
func copyBox(data []byte, s arraySpec, from, to []int64) {
	sizes, shape := s.objects(), s.Shape
	var walk func(axis int, a, b int64)
	walk = func(axis int, a, b int64) {
		if axis == len(sizes) {
			n := s.Type.Size
			copy(data[b*n:(b+1)*n], data[a*n:(a+1)*n])
			return
		}
		for i := range sizes[axis] {
			walk(axis+1, a*shape[axis]+from[axis]*sizes[axis]+i,
				b*shape[axis]+to[axis]*sizes[axis]+i)
		}
	}
	walk(0, 0, 0)
}
