package adopt

import (
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
)

// Where an array came with data of its own, files that waited for it, such as a.raw, are set aside.
// Programs that unpack the same tree write the array's bytes to them. So what is set aside is
// compared with the array when both are complete, and is kept if it differs.

// Replaced ends or sets aside the files that waited for an array at path, where one is now. It was
// renamed by its view v.
func (f *Files) Replaced(path string, v view.View) {
	dir, _ := names.Split(path)
	for _, other := range view.Keeping() {
		x := f.Transients.Find(dir, view.FileOf(path, other))
		switch {
		case x == nil:
		case other == v || x.IsAnnounced():
			f.Transients.End(x)
		case !f.lacks(path, other):
			f.Transients.SetAside(x)
		}
	}
	f.CompareAsideSoon(path)
}

// lacks reports whether no array at path has a file of view v. If the store cannot say, there may
// be one: a file that is set aside is kept.
func (f *Files) lacks(path string, v view.View) bool {
	lacks, err := f.Names.Lacks(f.Ctx, path, v)
	return err == nil && lacks
}

// CompareAsideSoon is compareAside in the background.
func (f *Files) CompareAsideSoon(path string) {
	go f.guarded(path, func() { f.compareAside(path) })
}

// compareAside compares what was set aside for the array at path. That is kept, as the log says, or
// ends if it has the bytes of the array.
func (f *Files) compareAside(path string) {
	dir, _ := names.Split(path)
	for _, v := range view.Keeping() {
		was := transient.Spot{Dir: dir, Name: view.FileOf(path, v)}
		for _, x := range f.Transients.Aside(was) {
			f.compareOne(x, path, v)
		}
	}
}

func (f *Files) compareOne(x *transient.File, path string, v view.View) {
	if x.Bytes != nil {
		since := x.Changed()
		isKnown := x.Size() == 0 || f.isCopy(f.Ctx, x, path, v)
		if isKnown && f.Transients.DropUnused(x, since) {
			f.Transients.End(x)
			return
		}
	}
	f.Transients.SayAside(x)
}

// ClosedAside is compareAside after the last program has closed a file that was set aside. While
// the array is still written, its end does that.
func (f *Files) ClosedAside(x *transient.File) {
	was := x.Was()
	path, v, ok := f.Names.Path(was.Dir, was.Name)
	if ok && f.Writings.Find(path) == nil {
		f.compareOne(x, path, v)
	}
}
