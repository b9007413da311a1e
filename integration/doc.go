// Package integration tests the zarrfs binary through a real kernel mount, against the programs and libraries that
// people use: it holds no code of the product.
package integration
