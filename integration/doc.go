// Package integration tests the zarrfs binary through a real kernel mount, against the programs and
// libraries that people use: it holds no code of the product.
//
// mounttest/ is the harness: it runs the binary, mounts and unmounts, here and in cmd/zarrfs.
// interop/ makes stores with zarr-python 2 and 3, tensorstore and zarrs, each with an expected
// copy, and compares a mount with these. bench/ measures a mount against plain files and those
// libraries. Both want the virtual environments that interop/venvs.sh makes; tests that miss them
// say so and skip.
package integration
