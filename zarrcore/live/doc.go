// Package live has the arrays that are open, each as one flat file of bytes.
//
// # Consistency
//
// [Arrays.Open] sees everything that was stored before it was called: it reads the documents of the
// array again and forgets what is outdated. Another document is another generation, with cache
// entries of its own. Other objects begin a new epoch: bands are dropped, and a cached chunk is
// compared with its object when it is next used.
//
// Where an array has few objects, an open lists all of them with their versions (package scan). An
// epoch begins only if one has changed. An array is large where its grid has more than 4,096
// objects and a bounded number of looks has not shown all that are stored. Each open of a large
// array begins an epoch and lists nothing. Changes are found chunk by chunk, as chunks are read.
// Two uses still look at all its objects: a search for holes, and a read in order with large
// bands, which looks in the background.
//
// Open handles keep the generation that they opened until a program of this mount writes to the
// array (resized_by_others.go). Handles in Fortran order keep it even then, because their elements
// would otherwise be at other bytes. Dirty bytes are taken into the generation that is opened
// (joinEarly in appended_by_others.go).
//
// # Writing
//
// [Array.WriteAt] copies into memory; [Array.Flush] stores what was written, merged with what is
// stored now, object by object. See draft.go, flush.go and docs/ARCHITECTURE.md, "A write".
//
// Truncating axis 0 stores nothing at once. The draft remembers the lowest length it had, and
// stored rows from there on read as the fill value. A flush stores the document last. So the rows
// that a document counts are never leftovers of a truncation, whenever the process is killed. If
// another program has changed the document meanwhile, the array is truncated again as it is then
// (errOvertaken in flush.go).
//
// A .npy in Fortran order shows the array with its axes reversed (transposed.go), so its chunks
// need no transposing. Each of the two orders has a draft of its own (orders.go). Each stores its
// dirty bytes before the other is used, and only one is written or resized at a time.
//
// All of a flush happens in the array's own directory, which stays open (catalog.Home).
// Directories are created below it only. So what is stored follows a rename by another program,
// and nothing is created again under the old name.
//
// # Parts
//
// Each part uses those above it:
//
//   - renameLog: what this process renames. place: where one array is.
//   - state: what is not stored of an array in one order. generations: how long it is by now.
//   - draft: both together; bytes are put into it, and it is resized.
//   - storer: one flush of a draft. source: what package batch asks of the draft. retraction: rows
//     that are refused are taken back.
//   - orders: the two drafts of an array. lineage: its place, its orders, and what follows it.
//   - opener: opens arrays. finder: finds those that are elsewhere.
//   - keeper: what cannot be stored any more. saver: what nobody flushes.
//   - handle: what a program has open. Array: a handle, and what it shows. Arrays: all of them.
//
// Three references go up. A draft has its newest Array, which has the draft. It adds itself to the
// sets of all arrays: unsaved, and table. A handle names the Arrays that it is of.
//
// # Lock order
//
// draft.flushing, place.away, generations.reshaping, orders.pair, draft.mu, table.mu,
// scan.Watch.mu; then the locks of dirty, band and chunk. From orders.pair on none is held while
// reading from the store, writing to it, decoding or encoding. Of the two drafts of a Fortran array
// the reversed one is locked last. See docs/LOCKS.md.
package live
