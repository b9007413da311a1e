// Package object is the way between an array's chunks and the objects of its store: which
// object holds a chunk ([Layout]), by which key it is stored ([Keys]), and with which codecs
// it is encoded ([Chains]). A chunk that is not stored is the fill value ([ErrMissing],
// [Fill]). Where a shard has its chunks is read once ([Indexes]).
package object
