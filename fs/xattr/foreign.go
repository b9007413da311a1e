package xattr

import (
	"errors"
	"fmt"
	"strings"
)

// IsSystems reports whether an attribute of that name is an access list, a label or a capability.
func IsSystems(attr string) bool {
	return strings.HasPrefix(attr, "system.") || strings.HasPrefix(attr, "security.")
}

// NotOfZarr is why an attribute of that name is refused.
func NotOfZarr(attr string) error {
	_, name, _ := strings.Cut(attr, ".") // it is "user" or "trusted" that comes before
	return fmt.Errorf("%s: %w; an attribute of the array or group is %s%s",
		attr, errors.ErrUnsupported, Attr, name)
}
