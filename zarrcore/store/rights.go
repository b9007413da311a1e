package store

import "context"

// Rights are what users may do with an object or a directory, as in a POSIX file system. The zero
// Rights are not known: not every store has users.
type Rights struct {
	Known bool
	// the permission bits, those for the set-group-ID and the sticky directory among them
	Mode     uint32
	UID, GID uint32 // its owner and group
}

// The classes of users that a mode knows, as how far their bits are shifted.
const (
	ownerBits = 6
	groupBits = 3
	otherBits = 0
)

func (r Rights) class(shift int) uint32 { return r.Mode >> shift & 7 }

// And returns the rights of a user that needs both: what is left of r for each class of its users,
// whichever class of b they are in. It has the owner and group of r. Where one of them is not
// known, the other one counts.
func (r Rights) And(b Rights) Rights {
	switch {
	case !b.Known:
		return r
	case !r.Known:
		return b
	}
	owner, group, other := b.class(ownerBits), b.class(groupBits), b.class(otherBits)
	var of [3]uint32 // what b lets the owner of r do, its group, and others
	of[0], of[1], of[2] = owner, group, other
	if r.GID != b.GID {
		of[1] &= other
		of[2] &= group
	}
	if r.UID != b.UID { // the owner of b is in another class of r
		of[0] = group & other
		of[1] &= owner
		of[2] &= owner
	}
	r.Mode &= of[0]<<ownerBits | of[1]<<groupBits | of[2]
	return r
}

// Inside returns what the rights to a directory allow with the objects in it: to come to them, so
// that they can be read, and to replace them.
func (r Rights) Inside() Rights {
	const each = 0o111
	enter := r.Mode & each
	r.Mode = enter<<2 | r.Mode&(each<<1)&(enter<<1)
	return r
}

// Listing returns what the rights to a directory allow with the names in it, and with what they
// stand for: to read them.
func (r Rights) Listing() Rights {
	const each = 0o111
	enter := r.Mode & each
	r.Mode &= enter << 2
	return r
}

// Permitter is a Driver for stores with rights that only an attempt, or a question, shows: access
// control lists, for instance. It is optional.
type Permitter interface {
	// MayWrite returns nil if objects in dir can be made and replaced, or why not.
	MayWrite(ctx context.Context, dir string) error
}
