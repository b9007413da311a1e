// Package vlenarray has arrays whose elements have no fixed size: strings, byte strings, lists.
// They are not flat files of bytes, but files of lines, or of strings of fixed width. Package lines
// knows where the lines are, and reads them through its interface Source. They are written as a
// whole, or with rows behind the last: write.go stages all objects, which object.go encodes, and
// commits them. A renamed array is read at its new path (moved.go).
package vlenarray
