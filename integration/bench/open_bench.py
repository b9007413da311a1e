#!/usr/bin/env python3
"""Time stat, open and a first read of arrays of a million chunks, beside arrays of a thousand.

Usage: open_bench.py --bin zarrfs [--data bench-data] [--rounds 15]

The keys are flat (0.0, Zarr v2) or nested (c/0/0, Zarr v3). The array of `strings` has nested
keys and a string in each chunk. Its .jsonl is read from the start, because a read elsewhere
counts what lies before it. `first` is right after mounting, in a fresh mount for the stat and
another one for open and read; `again` is later in the same mount, once the kernel has forgotten
what it was told. A read takes 4 KiB in the middle of the array. The figures are medians, in
milliseconds; the ratio is the median of the rounds' ratios. The goal: a million chunks take at
most 0.1 s, and at most 1.5 times as long as a thousand.
"""

import argparse
import json
import os
import statistics
import struct
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
        return ".zarray", {"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "|u1",
            "fill_value": 0, "order": "C",
                           "compressor": None, "filters": None, "dimension_separator": "."}
    if keys == "strings":
        grid = {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}
        return "zarr.json", {"zarr_format": 3, "node_type": "array", "shape": [rows, columns],
                             "data_type": "string", "fill_value": "", "chunk_grid": grid,
                             "chunk_key_encoding": {"name": "default"},
                             "codecs": [{"name": "vlen-utf8"}]}
    return "zarr.json", {"zarr_format": 3, "node_type": "array", "shape": shape,
        "data_type": "uint8", "fill_value": 0,
                         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
                         "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}


def content(keys):
    """A chunk: random bytes, or one string whose line has as many."""
    if keys != "strings":
        return os.urandom(CHUNK)
    text = os.urandom(CHUNK // 2).hex().encode()[: CHUNK - len('""\n')]
    return struct.pack("<II", 1, len(text)) + text


def make(path, keys, rows, columns):
    """An array all of whose chunks are there, as names of a few files."""
    part = path + ".part"
    os.makedirs(part, exist_ok=True)
    name, doc = document(keys, rows, columns)
    with open(os.path.join(part, name), "w") as f:
        json.dump(doc, f)
    source = None
    for i in range(rows):
        if keys != "flat":
            os.makedirs(os.path.join(part, "c", str(i)), exist_ok=True)
        for j in range(columns):
            key = os.path.join(part, f"{i}.{j}" if keys == "flat" else f"c/{i}/{j}")
            if (i * columns + j) % LINKS:
                os.link(source, key)
                continue
            source = key
            with open(key, "wb") as f:
                f.write(content(keys))
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


def measure(binary, stores, rounds):
    """Seconds of each operation by store, a list with one figure a round. The stores take turns,
    and so does the order of their turns.
    """
    found = {store: {(when, what): [] for when in ("first", "again")
        for what in ("stat", "open", "read")} for store in stores}
    for i in range(rounds + 1):
        for store, at in list(stores.items())[:: 1 if i % 2 else -1]:
            one_round(binary, store, at, found[store])
        if i == 0:  # this round has read the program and the directories into memory
            for seconds in (s for by_op in found.values() for s in by_op.values()):
                seconds.clear()
    return found


def one_round(binary, store, at, found):
    with Daemon(binary, store) as d:
        path = view(d, store)
        found["first", "stat"].append(timed(lambda: os.stat(path))[0])
        time.sleep(KEPT)
        found["again", "stat"].append(timed(lambda: os.stat(path))[0])
    with Daemon(binary, store) as d:
        path = view(d, store)
        opened(path, at, found, "first")
        opened(path, at + CHUNK, found, "again")


def view(daemon, store):
    name = os.path.basename(store)
    return os.path.join(daemon.dir, name + (".jsonl" if "strings" in name else ".raw"))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data")
    p.add_argument("--rounds", type=int, default=15)
    args = p.parse_args()
    os.makedirs(args.data, exist_ok=True)
    print("| keys | when | op | thousand ms | million ms | ratio | goals |")
    print("|" + "---|" * 7)
    reached = True
    for keys in ("flat", "nested", "strings"):
        stores = {os.path.join(args.data, f"open-{keys}-{size}"): (rows, columns)
            for size, (rows, columns) in SIZES.items()}
        for store, (rows, columns) in stores.items():
            if not os.path.exists(store):
                make(store, keys, rows, columns)
        middle = {s: r * c // 2 * CHUNK if keys != "strings" else 0
                  for s, (r, c) in stores.items()}
        found = measure(os.path.abspath(args.bin), middle, args.rounds)
        thousand, million = found.values()
        for (when, what), small in thousand.items():
            large = million[when, what]
            ratio = statistics.median(b / a for a, b in zip(small, large))
            small, large = statistics.median(small), statistics.median(large)
            ok = large <= MOST and ratio <= RATIO
            reached &= ok
            print(f"| {keys} | {when} | {what} | {small * 1000:.2f} | {large * 1000:.2f} | "
                f"{ratio:.2f} | {'all' if ok else 'missed'} |")
        sys.stdout.flush()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
