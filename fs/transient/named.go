package transient

// Named are the transients in a group, by name. They are a part of what is known of the group's
// path, and are changed under the lock of the states.
type Named map[string]*File

// Moved implements pathstate.Part.
func (p *Named) Moved(to string) {
	for name, x := range *p {
		x.where.Store(&Spot{to, name})
	}
}

// Ended keeps them: their bytes are nowhere else, and are kept in a folder when the mount ends.
func (p *Named) Ended() {}

// IsEmpty implements pathstate.Part.
func (p *Named) IsEmpty() bool { return len(*p) == 0 }

// Join adds the files that have stayed. Another group was moved to the place of their group.
func (p *Named) Join(stayed Named) {
	for name, x := range stayed {
		for (*p)[name] != nil {
			name += "~"
		}
		p.enter(x, Spot{x.dir(), name})
	}
}

// has reports whether a file is there still.
func (p *Named) has(x *File) bool { return (*p)[x.At().Name] == x }

// enter puts a file in its place, in this group.
func (p *Named) enter(x *File, at Spot) {
	if *p == nil {
		*p = make(Named)
	}
	x.where.Store(&at)
	(*p)[at.Name] = x
}

// remove ends a file's name, if it has it still, and reports whether it had it.
func (p *Named) remove(x *File) bool {
	had := p.has(x)
	if had {
		delete(*p, x.At().Name)
	}
	return had
}

// discard takes the name from the file that has it. No program has this file open. discard returns
// the file, or nil if no file has the name. The caller then calls forget.
func (p *Named) discard(name string) *File {
	x := (*p)[name]
	delete(*p, name)
	return x
}

// forget removes the bytes of a file that was discarded. Nobody misses them, so errors do not
// matter.
func forget(x *File) {
	if x != nil {
		x.Bytes.Close()
	}
}
