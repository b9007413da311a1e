package program

import "path"

// Movers are the programs that copy or move trees and never look at what they have just written. To
// them the other views of an array that they make are hidden until they make them too. A program of
// another kind sees the views of its new array at once: a script may write x.npy and read x.raw.
// Programs that only remove or find files need not be here.
//
// This, copiers and isRsync are the only places that name programs. docs/decisions/0008 says what
// depends on them.
var Movers = map[string]bool{
	"cp": true, "mv": true, "install": true, "tar": true, "gtar": true, "bsdtar": true,
	"cpio": true, "bsdcpio": true, "pax": true, "rsync": true, "unzip": true, "7z": true,
	"7za": true, "7zz": true, "busybox": true,
}

// copiers are the programs that copy single files. A script that maps a.npy and appends to a.raw is
// not one of them, and may do so.
var copiers = map[string]bool{"cat": true, "dd": true, "tee": true, "pv": true, "ddrescue": true}

// isRsync reports whether a command is rsync. To it a source that ends in a slash is what the
// folder holds, and -t names no target.
func isRsync(command string) bool { return path.Base(command) == "rsync" }
