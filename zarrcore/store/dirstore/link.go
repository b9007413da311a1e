package dirstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.LinkWriter = (*Driver)(nil)

// ErrLoop is returned for a symbolic link that leads to itself.
var ErrLoop = fmt.Errorf("dirstore: a symbolic link leads to itself: %w", unix.ELOOP)

// errNotLink says that what is at a key is not a link.
var errNotLink = errors.New("dirstore: not a symbolic link")

// Link returns the symbolic link at key; see store.Linker.
func (d *linker) Link(ctx context.Context, key string) (link store.Link, ok bool, err error) {
	r, err := d.begin(ctx)
	if err != nil {
		return store.Link{}, false, err
	}
	if there, ok := r.straight(key); ok {
		return there, false, nil
	}
	text, st, err := r.readlink(key)
	switch {
	case err == errNotLink, err == fs.ErrNotExist:
		return store.Link{}, false, nil
	case err != nil:
		return store.Link{}, false, err
	}
	info := infoOf(key, &st)
	w := walk{r: r}
	link = w.follow(key, text)
	link.ModTime, link.Version = info.ModTime, info.Version
	return link, true, nil
}

// Resolve follows all links of key; see store.Linker.
func (d *linker) Resolve(ctx context.Context, key string) (string, error) {
	r, err := d.begin(ctx)
	if err != nil {
		return key, err
	}
	if _, straight := r.straight(key); straight {
		return key, nil
	}
	w := walk{r: r}
	switch err := w.along(key, true); {
	case err != nil:
		return "", err
	case w.missing && w.links == 0:
		return "", fs.ErrNotExist
	case w.missing:
		return "", fmt.Errorf("%w (%w)", ErrDangling, fs.ErrNotExist)
	}
	return strings.Join(w.at, "/"), nil
}

// relative returns the way from a directory to a key, where no link is on it.
func relative(dir, key string) string {
	way, err := filepath.Rel("/"+dir, "/"+key)
	if err != nil { // both are absolute, so there is a way
		return key
	}
	return filepath.ToSlash(way)
}

// maxLinks is how many links one way may lead through, as in the kernel.
const maxLinks = 40

// A walk follows a path element by element beneath the root. It never looks at anything outside.
// Where a path leaves the root, by ".." or because it is absolute, the rest is only compared with
// the root's own path: it may come back.
type walk struct {
	r       *root
	at      []string // where it is, without any link
	out     []string // where it is outside; only if outside is set
	outside bool
	missing bool // what is at the place does not exist: the rest is followed by its text alone
	around  bool // the outermost path left the root and came back
	links   int  // followed so far
}

// follow walks from the link at key, of which text is what the file system has, and returns where
// it leads.
func (w *walk) follow(key, text string) (link store.Link) {
	dir := path.Dir(key)
	if dir != "." {
		w.at = strings.Split(dir, "/")
	}
	if link.Err = w.along(text, true); link.Err == ErrOutside {
		return link
	}
	link.Target = strings.Join(w.at, "/")
	if link.Text = text; w.around {
		link.Text = relative(dir, link.Target)
	}
	if link.Err != nil {
		return link
	}
	info, err := w.r.stat(link.Target)
	switch {
	case w.missing, errors.Is(err, fs.ErrNotExist), len(w.at) > 0 && isStaging(w.at[0]):
		link.Err = ErrDangling
	case err != nil:
		link.Err = err
	}
	link.Dir = info.Dir
	return link
}

// along follows a path. outermost is set for the first path of a walk, and not for those of the
// links on the way.
func (w *walk) along(text string, outermost bool) error {
	if strings.HasPrefix(text, "/") {
		w.leave(nil)
	}
	for elem := range strings.SplitSeq(text, "/") {
		w.around = w.around || outermost && w.outside
		if err := w.step(elem); err != nil {
			return err
		}
	}
	if w.outside {
		return ErrOutside
	}
	return nil
}

// leave goes outside, to a place above the root or to "/".
func (w *walk) leave(to []string) {
	w.out, w.outside = to, true
	w.comeBack()
}

// comeBack ends being outside where that is the root.
func (w *walk) comeBack() {
	for _, own := range w.r.paths {
		if slices.Equal(w.out, own) {
			w.at, w.out, w.outside = nil, nil, false
			return
		}
	}
}

func (w *walk) step(elem string) error {
	switch {
	case elem == "" || elem == ".":
	case w.outside && elem == "..":
		w.out = w.out[:max(0, len(w.out)-1)]
		w.comeBack()
	case w.outside:
		w.out = append(w.out, elem)
		w.comeBack()
	case elem == ".." && len(w.at) > 0:
		w.at = w.at[:len(w.at)-1]
	case elem == "..":
		real := w.r.paths[0]
		w.leave(slices.Clone(real[:max(0, len(real)-1)]))
	default:
		return w.enter(elem)
	}
	return nil
}

// enter goes to a name in the directory where the walk is, and on if that is a link.
func (w *walk) enter(elem string) error {
	next := append(slices.Clone(w.at), elem)
	if w.missing {
		w.at = next
		return nil
	}
	text, _, err := w.r.readlink(strings.Join(next, "/"))
	switch err {
	case nil:
		if w.links++; w.links > maxLinks {
			return ErrLoop
		}
		return w.along(text, false)
	case errNotLink:
	case fs.ErrNotExist:
		w.missing = true
	default:
		return err
	}
	w.at = next
	return nil
}

// readlink returns the text of the link at key. What is not a link is errNotLink, and a key that
// leads through a link store.ErrThroughLink.
func (r *root) readlink(key string) (text string, st unix.Stat_t, err error) {
	fd, err := r.openStraight(key, pathOnly|unix.O_NOFOLLOW)
	switch err {
	case nil:
	case unix.ENOSYS, unix.ENAMETOOLONG:
		return r.readlinkSlowly(key)
	case unix.ELOOP:
		return "", st, store.ErrThroughLink
	case unix.ENOENT, unix.ENOTDIR:
		return "", st, fs.ErrNotExist
	default:
		return "", st, err
	}
	defer unix.Close(fd)
	if err := fstat(fd, &st); err != nil {
		return "", st, err
	}
	if kindOf(&st) != unix.S_IFLNK {
		return "", st, errNotLink
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return string(buf[:max(n, 0)]), st, err
}

// readlinkSlowly is the portable twin of readlink.
func (r *root) readlinkSlowly(key string) (text string, st unix.Stat_t, err error) {
	for i, c := range key {
		if c != '/' {
			continue
		}
		if info, err := r.os.Lstat(key[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", st, store.ErrThroughLink
		}
	}
	p, err := r.place(key)
	if err != nil {
		return "", st, err
	}
	defer p.close()
	if st, err = p.lstat(); err != nil {
		return "", st, err
	}
	if kindOf(&st) != unix.S_IFLNK {
		return "", st, errNotLink
	}
	text, err = r.os.Readlink(key)
	return text, st, bare(err)
}

// straightPlace finds the place of key, to which no link may lead. A missing directory is
// fs.ErrNotExist.
func (r *root) straightPlace(key string) (place, error) {
	return r.placeIn(key, r.openStraightParent)
}

// openStraightParent opens a directory ("." is the root) to which no link may lead, to find names
// in it.
func (r *root) openStraightParent(dir string) (int, error) {
	fd, err := r.openStraight(dir, pathOnly|unix.O_DIRECTORY)
	switch err {
	case unix.ELOOP:
		return -1, store.ErrThroughLink
	case unix.ENOENT:
		return -1, fs.ErrNotExist
	case unix.ENOTDIR: // a file, or a link at the very end
		if _, _, err := r.readlink(dir); err == nil {
			return -1, store.ErrThroughLink
		}
		return -1, fs.ErrNotExist
	case unix.ENOSYS, unix.ENAMETOOLONG:
		return r.openStraightSlowly(dir)
	}
	return fd, err
}

// openStraightSlowly is the portable twin of openStraightParent.
func (r *root) openStraightSlowly(dir string) (int, error) {
	if dir != "." {
		if _, _, err := r.readlinkSlowly(dir); err != errNotLink {
			return -1, cmp.Or(err, store.ErrThroughLink)
		}
	}
	fd, err := r.openParent(dir)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ENAMETOOLONG {
		err = fs.ErrNotExist
	}
	return fd, err
}

// PutLink makes a symbolic link; see store.LinkWriter. It is made in the staging folder and
// renamed, so that one which it replaces is replaced at once.
func (d *linker) PutLink(ctx context.Context, key, text string, replace bool) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	if text == "" || strings.HasPrefix(text, "/") {
		return fs.ErrInvalid
	}
	w := walk{r: r}
	if link := w.follow(key, text); link.Err == ErrOutside || link.Text != text {
		return ErrOutside
	}
	dst, err := r.straightPlace(key)
	if err != nil {
		return err
	}
	defer dst.close()
	s, err := r.area.staging()
	if err != nil {
		return err
	}
	defer r.area.done(s)
	src := place{r: r, dir: s.fd, name: s.newName()}
	if err := unix.Symlinkat(text, src.dir, src.name); err != nil {
		return err
	}
	if err = renameLink(src, dst, replace); err == nil {
		return nil
	}
	src.unlink(0)
	if err == unix.EXDEV { // another file system is mounted there
		if err = unix.Symlinkat(text, dst.dir, dst.name); err == unix.EEXIST {
			err = fs.ErrExist
		}
	}
	return err
}

// RenameLink renames a symbolic link; see store.LinkWriter.
func (d *linker) RenameLink(ctx context.Context, from, to string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	src, err := r.straightPlace(from)
	if err != nil {
		return err
	}
	defer src.close()
	dst, err := r.straightPlace(to)
	if err != nil {
		return err
	}
	defer dst.close()
	if st, err := src.lstat(); err != nil {
		return err
	} else if kindOf(&st) != unix.S_IFLNK {
		return fs.ErrInvalid
	}
	return renameLink(src, dst, true)
}

// renameLink renames a link, onto another if replace is set, and onto nothing else.
func renameLink(src, dst place, replace bool) error {
	st, err := dst.lstat()
	switch {
	case err == fs.ErrNotExist:
		err = renameNew(src, dst)
	case err == nil && replace && kindOf(&st) == unix.S_IFLNK:
		// EISDIR, if a directory has taken its place
		err = unix.Renameat(src.dir, src.name, dst.dir, dst.name)
	case err == nil:
		err = fs.ErrExist
	}
	if err == unix.EISDIR || err == unix.EEXIST {
		return fs.ErrExist
	}
	return err
}
