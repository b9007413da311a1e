// Package object is the way between an array's chunks and the objects of its store. [Layout] says
// which object holds a chunk. [Keys] has the keys by which objects are stored, and [Chains] has the
// codecs of objects. A chunk that is not stored is the fill value ([ErrMissing], [Fill]). The
// places of a shard's chunks are read once ([Indexes]).
package object
