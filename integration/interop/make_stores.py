#!/usr/bin/env python3
"""Make the interop stores with one library.

Usage: make_stores.py --writer zarr1|zarr2|zarr3|newest|others|tensorstore|zarrs|handmade OUT

zarr1 and zarr2 want the environment of requirements-v2.txt, newest that of
requirements-newest.txt, others that of requirements-all.txt, the rest that of
requirements-v3.txt. See book.py for what OUT holds afterwards.
"""

import argparse
import importlib
import sys
import warnings

WRITERS = ("zarr1", "zarr2", "zarr3", "newest", "others", "tensorstore", "zarrs", "handmade")


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--writer", choices=WRITERS, required=True, action="append")
    args.add_argument("out")
    args = args.parse_args()
    warnings.simplefilter("ignore")
    for writer in args.writer:
        importlib.import_module("write_" + writer).write_all(args.out)


if __name__ == "__main__":
    sys.exit(main())
