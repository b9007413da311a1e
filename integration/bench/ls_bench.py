#!/usr/bin/env python3
"""Time `ls` of a group of 100,000 arrays: the mount against the store's own directory.

Usage: ls_bench.py --bin zarrfs [--data bench-data] [--rounds 3] [--views "json,npy,raw" npy]
[--long]

In each round a fresh mount is listed once, which is `first`; then the store's
directory and the mount are listed in turns, PAIRS times each: `ls` is the median
of these, and what the goal is about, as a mount is listed more than once. First
entry is the time until opendir and readdir of a fresh mount have given one name.
(The page cache holds the store's directory in all cases: the disk is not what is
measured.) With --long it is `ls -l` instead, against one of empty files of the
same names in the data folder's file system. Its goal is that the second listing
of a mount takes no more of the daemon's processor time than the first.
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
PAIRS = 3
V3 = {"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "float32",
    "fill_value": 0,
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
      "chunk_key_encoding": {"name": "default"},
      "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
V2 = {"zarr_format": 2, "shape": [10], "chunks": [10], "dtype": "<f4", "fill_value": 0,
    "order": "C",
      "compressor": None, "filters": None}
FORMATS = {"v3": ("zarr.json", V3, {"zarr_format": 3, "node_type": "group"}),
    "v2": (".zarray", V2, {"zarr_format": 2})}


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
    done = subprocess.run(["ls", *flags, path], stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"}, check=True)
    return time.perf_counter() - began, done.stdout.count(b"\n")


def first_entry(path):
    began = time.perf_counter()
    with os.scandir(path) as entries:
        next(entries)
        return time.perf_counter() - began


def plain_files(names, data):
    """A directory of empty files of these names."""
    path = os.path.join(data, f"ls-plain-{len(names)}")
    if not os.path.exists(path):
        part = path + ".part"
        os.makedirs(part, exist_ok=True)
        for name in names:
            os.close(os.open(os.path.join(part, name), os.O_CREAT | os.O_WRONLY))
        os.rename(part, path)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--views", nargs="+", default=["json,npy,raw", "npy"])
    p.add_argument("--formats", nargs="+", default=list(FORMATS))
    p.add_argument("--long", action="store_true")
    args = p.parse_args()
    beside = "plain ls -l" if args.long else "store's ls"
    print(
        f"| store | views | names | {beside} s | ls s (ratio) | first s (ratio) | first entry ms | "
          "daemon CPU s | again CPU s | peak MiB | goals |")
    print("|" + "---|" * 11)
    reached = True
    for fmt in args.formats:
        path = os.path.join(args.data, f"ls-{fmt}.zarr")
        os.makedirs(args.data, exist_ok=True)
        if not os.path.exists(path):
            make(fmt, path)
        for views in args.views:
            reached &= measure(fmt, path, views, args)
    return 0 if reached else 1


def measure(fmt, path, views, args):
    flags, mount = ["-l"] if args.long else [], ["--views", views]
    found = {k: [] for k in ("beside", "ls", "first", "entry", "cpu", "again", "peak")}
    beside = path
    if args.long:
        with Daemon(os.path.abspath(args.bin), path, mount) as d:
            beside = plain_files(os.listdir(d.dir), args.data)
    ls(beside, *flags)
    ls(path)
    for _ in range(args.rounds):
        with Daemon(os.path.abspath(args.bin), path, mount) as d:
            found["entry"].append(first_entry(d.dir))
        with Daemon(os.path.abspath(args.bin), path, mount) as d:
            first, names = ls(d.dir, *flags)
            found["first"].append(first)
            found["cpu"].append(d.cpu() - d.cpu0)
            before = d.cpu()
            ls(d.dir, *flags)
            found["again"].append(d.cpu() - before)
            for _ in range(PAIRS):
                found["beside"].append(ls(beside, *flags)[0])
                found["ls"].append(ls(d.dir, *flags)[0])
            found["peak"].append(d.memory()["VmHWM"] / (1 << 20))
    m = {k: statistics.median(v) for k, v in found.items()}
    goals = {"ls within 2 x": m["ls"] <= 2 * m["beside"],
        "first entry within 100 ms": m["entry"] <= 0.1}
    if args.long:
        goals = {"again no dearer than first": m["again"] <= m["cpu"]}
    missed = [f"missed: {goal}" for goal, ok in goals.items() if not ok]
    cells = [
        fmt, views, names - args.long, f"{m['beside']:.3f}",
        f"{m['ls']:.3f} ({m['ls'] / m['beside']:.2f})",
        f"{m['first']:.3f} ({m['first'] / m['beside']:.2f})",
        f"{m['entry'] * 1000:.1f}", f"{m['cpu']:.2f}", f"{m['again']:.2f}", f"{m['peak']:.0f}",
        ", ".join(missed) or "all",
    ]
    print("| " + " | ".join(map(str, cells)) + " |")
    sys.stdout.flush()
    return not missed


if __name__ == "__main__":
    sys.exit(main())
