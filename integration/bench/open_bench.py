#!/usr/bin/env python3
"""Time stat, open and a first read of arrays of a million chunks, beside arrays of a thousand.

Usage: open_bench.py --bin zarrfs [--data bench-data] [--rounds 5]

The keys are flat (0.0, Zarr v2) or nested (c/0/0, Zarr v3). `first` is right after mounting, in a fresh mount for the stat
and another one for open and read; `again` is later in the same mount, once the kernel has forgotten what it was told. A read
takes 4 KiB in the middle of the array. The figures are medians, in milliseconds.
The goal: a million chunks take at most 0.1 s, and at most 1.5 times as long as a thousand.
"""

import argparse
import json
import os
import statistics
import sys
import time

from daemon import Daemon

CHUNK = 4096  # bytes, one row
SIZES = {"thousand": (100, 10), "million": (1000, 1000)}  # chunks along each axis
LINKS = 60_000  # names of one file: ext4 allows 65,000
KEPT = 1.1  # seconds for which the kernel remembers attributes, and some more
MOST, RATIO = 0.1, 1.5


def document(keys, rows, columns):
    shape, chunk = [rows, columns * CHUNK], [1, CHUNK]
    if keys == "flat":
        return ".zarray", {"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "|u1", "fill_value": 0, "order": "C",
                           "compressor": None, "filters": None, "dimension_separator": "."}
    return "zarr.json", {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0,
                         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
                         "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}


def make(path, keys, rows, columns):
    """An array all of whose chunks are there, as names of a few files."""
    part = path + ".part"
    os.makedirs(part, exist_ok=True)
    name, doc = document(keys, rows, columns)
    with open(os.path.join(part, name), "w") as f:
        json.dump(doc, f)
    source = None
    for i in range(rows):
        if keys == "nested":
            os.makedirs(os.path.join(part, "c", str(i)), exist_ok=True)
        for j in range(columns):
            key = os.path.join(part, f"{i}.{j}" if keys == "flat" else f"c/{i}/{j}")
            if (i * columns + j) % LINKS:
                os.link(source, key)
                continue
            source = key
            with open(key, "wb") as f:
                f.write(os.urandom(CHUNK))
    os.rename(part, path)


def timed(do):
    began = time.perf_counter()
    result = do()
    return time.perf_counter() - began, result


def opened(path, at, found, when):
    seconds, fd = timed(lambda: os.open(path, os.O_RDONLY))
    found[when, "open"].append(seconds)
    seconds, data = timed(lambda: os.pread(fd, CHUNK, at))
    found[when, "read"].append(seconds)
    assert len(data) == CHUNK and any(data)
    os.close(fd)


def measure(binary, store, at, rounds):
    """Seconds of each operation, medians."""
    found = {(when, what): [] for when in ("first", "again") for what in ("stat", "open", "read")}
    for _ in range(rounds):
        with Daemon(binary, store) as d:
            path = view(d, store)
            found["first", "stat"].append(timed(lambda: os.stat(path))[0])
            time.sleep(KEPT)
            found["again", "stat"].append(timed(lambda: os.stat(path))[0])
        with Daemon(binary, store) as d:
            path = view(d, store)
            opened(path, at, found, "first")
            opened(path, at + CHUNK, found, "again")
    return {what: statistics.median(seconds) for what, seconds in found.items()}


def view(daemon, store):
    return os.path.join(daemon.dir, os.path.basename(store) + ".raw")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data")
    p.add_argument("--rounds", type=int, default=5)
    args = p.parse_args()
    os.makedirs(args.data, exist_ok=True)
    print("| keys | when | op | thousand ms | million ms | ratio | goals |")
    print("|" + "---|" * 7)
    reached = True
    for keys in ("flat", "nested"):
        m = {}
        for size, (rows, columns) in SIZES.items():
            store = os.path.join(args.data, f"open-{keys}-{size}")
            if not os.path.exists(store):
                make(store, keys, rows, columns)
            m[size] = measure(os.path.abspath(args.bin), store, rows * columns // 2 * CHUNK, args.rounds)
        for (when, what), small in m["thousand"].items():
            large = m["million"][when, what]
            ok = large <= MOST and large <= RATIO * small
            reached &= ok
            print(f"| {keys} | {when} | {what} | {small * 1000:.2f} | {large * 1000:.2f} | {large / small:.2f} | {'all' if ok else 'missed'} |")
        sys.stdout.flush()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
