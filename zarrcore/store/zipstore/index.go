package zipstore

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// directory has the members of a zip file, sorted by name. A folder that the zip file names itself
// is a member, too: its name ends in "/".
type directory struct {
	members []member
	root    string // what the names of all objects begin with: "", or a folder and "/"
}

// member is what the zip file's directory says of one member.
type member struct {
	name    string
	header  int64  // offset of its local header
	packed  int64  // bytes in the zip file, without the header
	size    int64  // bytes of the object
	changed int64  // Unix seconds; 0: unknown
	crc     uint32 // of the object, CRC-32 of IEEE 802.3
	method  uint16 // a compression method; see readable
}

// newDirectory sorts members, which are in the order of the zip file.
func newDirectory(members []member) directory {
	byName := func(a, b member) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortStableFunc(members, byName)
	}
	kept := members[:0]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].name == m.name {
			continue // the last one counts
		}
		kept = append(kept, m)
	}
	d := directory{members: kept}
	if slices.ContainsFunc(kept, d.isBareFolder) {
		d.members = slices.DeleteFunc(slices.Clone(kept), d.isBareFolder)
	}
	return d
}

// isBareFolder reports whether a member is a folder that its writer names without "/".
func (d *directory) isBareFolder(m member) bool {
	isEmpty := m.size == 0 && m.method != symlink && !strings.HasSuffix(m.name, "/")
	return isEmpty && d.isDir(m.name)
}

// belowLink returns why there is nothing at key: a folder on the way is a symbolic link. Otherwise
// it is nil.
func (d *directory) belowLink(key string) error {
	for dir := store.Parent(key); dir != ""; dir = store.Parent(dir) {
		if m, ok := d.member(dir); ok && m.method == symlink {
			return m.readable()
		}
	}
	return nil
}

// documents are the objects of which the root of a store has one.
var documents = []string{"zarr.json", ".zgroup", ".zarray", "meta"}

// topFolder returns the folder that holds the store and all members, with "/" at its end: people
// pack a folder, or what is in it. It is "" if there is no such folder.
func (d *directory) topFolder() string {
	top := directory{members: d.members}
	for {
		only, ok := top.onlyFolder()
		if !ok {
			return ""
		}
		top.root += only + "/"
		for _, name := range documents {
			if _, ok := top.member(name); ok {
				return top.root
			}
		}
	}
}

// onlyFolder returns the name of the folder in the root, if nothing else is there.
func (d *directory) onlyFolder() (name string, ok bool) {
	for child, m := range d.children("") {
		if m != nil && child == ".DS_Store" { // of a Mac's Finder
			continue
		}
		if m != nil || ok {
			return "", false
		}
		name, ok = child, true
	}
	return name, ok
}

// from returns the number of the first member whose name is not less than name.
func (d *directory) from(name string) int {
	return sort.Search(len(d.members), func(i int) bool { return d.members[i].name >= name })
}

// member returns the member that is the object at key.
func (d *directory) member(key string) (*member, bool) {
	name := d.root + key
	i := d.from(name)
	if key == "" || i == len(d.members) || d.members[i].name != name {
		return nil, false
	}
	return &d.members[i], true
}

// isDir reports whether there is a folder: one that holds members, or is named itself.
func (d *directory) isDir(dir string) bool {
	if dir == "" {
		return true
	}
	name := d.root + dir + "/"
	i := d.from(name)
	return i < len(d.members) && strings.HasPrefix(d.members[i].name, name)
}

// children yields the name of each object and folder in dir; of a folder the member is nil. A
// folder that has the name of an object is left out.
func (d *directory) children(dir string) iter.Seq2[string, *member] {
	prefix := d.root
	if dir != "" {
		prefix += dir + "/"
	}
	return func(yield func(string, *member) bool) {
		for i := d.from(prefix); i < len(d.members); {
			name, inside := strings.CutPrefix(d.members[i].name, prefix)
			if !inside {
				return
			}
			name, _, deeper := strings.Cut(name, "/")
			switch {
			case name == "": // dir itself
				i++
			case !deeper:
				if !yield(name, &d.members[i]) {
					return
				}
				i++
			default:
				i = d.from(prefix + name + "0") // "0" follows "/"
				if _, hidden := d.member(store.Join(dir, name)); !hidden && !yield(name, nil) {
					return
				}
			}
		}
	}
}
