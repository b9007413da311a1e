package view

import (
	"fmt"
	"syscall"
)

// RefusesWrites returns why the files of a view cannot be written; nil: they can.
func RefusesWrites(v View) error {
	if v.IsWritable() {
		return nil
	}
	return fmt.Errorf("%w: a .%s file can only be read: write the array through another of "+
		"its files",
		syscall.EACCES, v.Name())
}

// ErrStructure refuses what would change more than the bytes of the arrays that a view shows. what
// begins a sentence that goes on with the name of the file.
func ErrStructure(v View, what string) error {
	return fmt.Errorf("%w: %s a .%s file: only elements of arrays can be written through it. "+
		"Change groups, shapes and attributes by the folders and their .json files, or work on "+
		"a copy", syscall.EPERM, what, v.Name())
}
