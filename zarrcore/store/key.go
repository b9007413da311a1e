package store

import "strings"

// IsValidKey reports whether key can name an object: elements joined by "/", none of them empty,
// "." or "..", and no NUL byte anywhere. The root ("") is not an object. Any other byte is allowed,
// so a key is not always valid UTF-8.
func IsValidKey(key string) bool {
	for more := true; more; {
		var elem string
		elem, key, more = strings.Cut(key, "/")
		if !isValidElement(elem) {
			return false
		}
	}
	return true
}

// Join joins the key of a directory and a name to a key.
func Join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Moved returns what becomes of a path, or key, when what is at from is renamed to to. It reports
// false for a path that is neither from nor below it.
func Moved(path, from, to string) (moved string, ok bool) {
	if path != from && !strings.HasPrefix(path, from+"/") {
		return "", false
	}
	return to + path[len(from):], true
}

// Parent returns the directory that holds what a key names; "" is the root.
func Parent(key string) string { return key[:max(0, strings.LastIndexByte(key, '/'))] }

// Base returns the last element of a key; "" of the root.
func Base(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// isValidElement reports whether elem, which holds no "/", can be one element of a key.
func isValidElement(elem string) bool {
	return elem != "" && elem != "." && elem != ".." && strings.IndexByte(elem, 0) < 0
}

// isValidDir is IsValidKey for places where the root is meant too.
func isValidDir(dir string) bool { return dir == "" || IsValidKey(dir) }
