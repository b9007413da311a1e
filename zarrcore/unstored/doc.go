// Package unstored has what is known of an array while it is written: which objects are completely
// dirty, what was truncated, and how flushes have failed. Its types know no array and no store, and
// need a lock of their user.
package unstored
