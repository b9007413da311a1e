package dirstore

// directFrom is from how many bytes on an object that is to be durable is written past the page
// cache: it has to reach the disk before it is put in its place. Copying it into pages first takes
// more time of a processor than all other work of writing. A small one is given to the disk
// together with others. See docs/decisions/0005-direct-writes.md.
const directFrom = 1 << 20
