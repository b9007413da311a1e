#!/usr/bin/env python3
"""Time `ls` of a group of 100,000 arrays: the mount against the store's own directory.

Usage: ls_bench.py --bin zarrfs [--data bench-data] [--rounds 3]

Cold is the first listing of a fresh mount, warm the second one. First entry is
the time until opendir and readdir have given one name. (The page cache holds
the store's directory in all cases: the disk is not what is measured.)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from daemon import Daemon

COUNT = 100_000
V3 = {"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "float32", "fill_value": 0,
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
      "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
V2 = {"zarr_format": 2, "shape": [10], "chunks": [10], "dtype": "<f4", "fill_value": 0, "order": "C",
      "compressor": None, "filters": None}
FORMATS = {"v3": ("zarr.json", V3, {"zarr_format": 3, "node_type": "group"}), "v2": (".zarray", V2, {"zarr_format": 2})}


def make(fmt, path):
    name, array, group = FORMATS[fmt]
    part = path + ".part"
    os.makedirs(part, exist_ok=True)
    with open(os.path.join(part, "zarr.json" if fmt == "v3" else ".zgroup"), "w") as f:
        json.dump(group, f)
    text = json.dumps(array)
    for i in range(COUNT):
        folder = os.path.join(part, f"array{i:06d}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    os.rename(part, path)


def ls(path, *flags):
    began = time.perf_counter()
    done = subprocess.run(["ls", *flags, path], stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}, check=True)
    return time.perf_counter() - began, done.stdout.count(b"\n")


def first_entry(path):
    began = time.perf_counter()
    with os.scandir(path) as entries:
        next(entries)
        return time.perf_counter() - began


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--flags", default="")
    args = p.parse_args()
    print("| store | store's ls s | mount cold s | warm s | ratio cold | ratio warm | first entry ms | entries | peak MiB | targets |")
    print("|" + "---|" * 10)
    reached = True
    for fmt in FORMATS:
        path = os.path.join(args.data, f"ls-{fmt}.zarr")
        os.makedirs(args.data, exist_ok=True)
        if not os.path.exists(path):
            make(fmt, path)
        reached &= measure(fmt, path, args)
    return 0 if reached else 1


def measure(fmt, path, args):
    found = {k: [] for k in ("store", "cold", "warm", "first", "peak")}
    ls(path)
    for _ in range(args.rounds):
        found["store"].append(ls(path)[0])
        with Daemon(os.path.abspath(args.bin), path, args.flags.split()) as d:
            found["first"].append(first_entry(d.dir))
        with Daemon(os.path.abspath(args.bin), path, args.flags.split()) as d:
            cold, entries = ls(d.dir)
            found["cold"].append(cold)
            found["warm"].append(ls(d.dir)[0])
            found["peak"].append(d.memory()["VmHWM"] / (1 << 20))
    m = {k: statistics.median(v) for k, v in found.items()}
    ok = m["cold"] <= 2 * m["store"], m["first"] <= 0.1
    marks = ", ".join(f"{'✓' if o else '✗'} {t}" for o, t in zip(ok, ("ls within 2 x", "first within 100 ms")))
    print(f"| {fmt} | {m['store']:.3f} | {m['cold']:.3f} | {m['warm']:.3f} | {m['cold'] / m['store']:.2f} | "
          f"{m['warm'] / m['store']:.2f} | {m['first'] * 1000:.1f} | {entries} | {m['peak']:.0f} | {marks} |")
    sys.stdout.flush()
    return all(ok)


if __name__ == "__main__":
    sys.exit(main())
