// Package fs is the FUSE view of a Zarr hierarchy. It shows groups as directories and every array
// as files, one for each view (.npy, .raw, .json). It turns requests of the kernel into reads and
// writes of package zarrcore.
//
// A name in the mount is resolved (package resolve) to a node of the hierarchy and, for a file, a
// view of it (package view). Opening a file asks its view for a content: a snapshot, or a header
// and an array behind it. A READ takes pieces of pinned memory from the content and hands them to
// the kernel without a copy (reply.go).
//
// A file that is read again and again becomes a plain file in the scratch folder. The kernel reads
// that without asking (packages material and pagecache).
//
// A WRITE (file_write.go) goes to what all views of an array share while it is written to (package
// writing), and from there to zarrcore. The other files of the array learn of it before it is
// answered (package coherence).
//
// Before a WRITE is answered, the pages of the array's other files are dropped: dirty ones before
// it, and all of them after it. Open handles read the array's live generation
// (view/array_content.go), and materialised files that are still read are updated (package
// material).
//
// A view whose array does not exist yet is a transient file (package transient). A .npy becomes an
// array with its header (new_npy_handle.go), a document when it is flushed (package document), and
// a .raw waits in scratch. Nodes are found by what they show (package identity), so that a rename
// moves them. The kernel forgets old names by notices that are sent after the answer (package
// nodes).
//
// Nothing here holds a lock while zarrcore works or while it waits for the kernel, except those of
// one array or file. docs/LOCKS.md lists them. They are never taken under the lock of a table, so
// that all others go on while the store hangs on one array.
package fs
