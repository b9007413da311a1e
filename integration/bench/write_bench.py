#!/usr/bin/env python3
"""Compare writing through a zarrfs mount with the libraries, on the workloads of make_workloads.py.

Usage: write_bench.py --bin zarrfs [--data bench-data] [--rounds 3] [--ops write,over,...] [W1 W2
...]

Each contestant writes an array of the same chunks and codecs into a store of its own, created for
each run, one contestant after the other in each round. The table on standard output has the
medians; `ratio` is the peer's time by ours.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from bench import HERE, options, run_all, run_json
from daemon import Daemon
from make_workloads import MIB, WORKLOADS, stored_bytes
from report import seconds
from runs import APPENDS

# Least ratio of the peer's time to ours for `write`.
TARGETS = {
    "zarr": {"W1": 1.3, "W2": 0.8, "W3": 1.3, "W4": 1.3, "W5": 1.3, "W6": 1.3},
    "tensorstore": {"W1": 0.8, "W2": 0.6, "W3": 0.6, "W4": 1.0, "W5": 1.0, "W6": 1.0},
}
MAX_STORED = 1.1  # of what the peer stores
MAX_ABOVE = 64 * MIB  # beside dirty budget and cache
DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
FLAGS = {"write64": ["--dirty-size", "64MiB"]}  # an operation that is another with flags


def prepare(op, w, folder):
    """A store to write to: empty for write and append (which starts without rows), else a copy."""
    store = os.path.join(folder, "s.zarr")
    if op in ("over", "randw"):
        subprocess.run(["cp", "-r", "--reflink=auto", w.store, store], check=True)
    else:
        shutil.copytree(w.store, store, ignore=lambda base, names: [
            n for n in names if n not in DOCUMENTS and not os.path.isdir(os.path.join(base, n))])
    if op == "append":
        cut_rows(store)
    os.sync()  # what was written before is not this run's affair
    return store


def cut_rows(store):
    for name in ("zarr.json", ".zarray"):
        path = os.path.join(store, "a", name)
        if os.path.exists(path):
            with open(path) as f:
                document = json.load(f)
            document["shape"][0] = 0
            with open(path, "w") as f:
                json.dump(document, f)


def append_rows(w):
    """A quarter of what one object has, at least one row."""
    m = WORKLOADS[w.name]
    return max(1, (m.shards or m.chunks)[0] // 4)


def run_ours(op, w, store, args):
    base = op.removesuffix("64")
    with Daemon(args.bin, store, [*args.flags, *FLAGS.get(op, [])]) as d:
        result = run_json([sys.executable, os.path.join(HERE, "writer.py"), base, d.dir, w.plain,
            str(append_rows(w))])
        status = d.status()
        result.update(
            daemon_cpu=d.cpu() - d.cpu0, peak=d.memory()["VmHWM"], idle=d.idle,
            cache=status.get("cache_size", 0),
            dirty=status.get("dirty_size", 0), encoded=status.get("chunks_encoded", 0))
    return result


def run_peer(who, op, w, store, args):
    python = args.python or sys.executable
    result = run_json([python, os.path.join(HERE, "peer_writer.py"), who, op, store, w.plain,
        str(w.format), str(append_rows(w))])
    return {**result, "peak": result["maxrss"]}


def one_round(op, w, args, results):
    for who in ("ours", *(() if op in FLAGS else args.peers)):
        with tempfile.TemporaryDirectory(prefix="write-", dir=args.data) as folder:
            store = prepare(op, w, folder)
            try:
                result = (
                    run_ours(op, w, store, args)
                    if who == "ours"
                    else run_peer(who, op, w, store, args)
                )
                result["stored"] = stored_bytes(store)
                if who == "ours" and who not in results and not args.no_check:
                    check(op, w, store, args)
            except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError) as err:
                print(f"{w.name} {op} {who}: {type(err).__name__} {err}",
                    file=sys.stderr, flush=True)
                continue
            results.setdefault(who, []).append(result)


def check(op, w, store, args):
    """What was written must be there, as tensorstore reads it; a wrong answer has no speed."""
    if op == "randw":
        return
    want = np.load(w.plain, mmap_mode="r")
    want = want[: APPENDS * append_rows(w)] if op == "append" else want
    done = subprocess.run(
        [args.python or sys.executable, "-c", CHECK, os.path.join(store, "a"),
            "zarr3" if w.format == 3 else "zarr", w.plain, str(len(want))])
    if done.returncode != 0:
        raise SystemExit(f"{w.name} {op}: the array that was written differs from its source")


CHECK = """
import sys, numpy as np, tensorstore as ts
path, driver, source, rows = sys.argv[1:]
kvstore = {"driver": "file", "path": path + "/"}
a = ts.open({"driver": driver, "kvstore": kvstore}, open=True).result()
want = np.load(source, mmap_mode="r")[: int(rows)]
def same(start, stop):
    return np.array_equal(a[start:stop].read().result().view("u1"), want[start:stop].view("u1"))
steps = range(0, len(want), 64)
sys.exit(a.shape != want.shape or not all(same(i, min(i + 64, len(want))) for i in steps))
"""


class Row:
    """One workload and operation: medians of all contestants."""

    def __init__(self, w, op, results):
        self.w, self.op = w, op
        self.results = {who: {k: statistics.median(r[k] for r in runs) for k in runs[0]}
            for who, runs in results.items()}
        self.ours = self.results["ours"]

    def targets(self):
        """Each target: what is asked, what is found, whether it is reached."""
        for who, found in self.results.items():
            if who != "ours" and self.op == "write":
                goal, ratio = (
                    TARGETS.get(who, {}).get(self.w.name), found["wall"] / self.ours["wall"])
                if goal:
                    yield f"{who} >= {goal:g}", f"{ratio:.2f}", ratio >= goal
                stored = self.ours["stored"] / found["stored"]
                yield f"stored <= {MAX_STORED} {who}", f"{stored:.2f}", stored <= MAX_STORED
        room = self.ours["dirty"] + self.ours["cache"] + MAX_ABOVE
        yield (
            f"memory <= {room / MIB:.0f} MiB",
            f"{self.ours['peak'] / MIB:.0f}",
            self.ours["peak"] <= room
        )
        if self.op in ("write", "write64", "over"):
            chunks = chunk_count(self.w)
            yield (
                f"chunks encoded <= {chunks}",
                f"{self.ours['encoded']:.0f}",
                0 < self.ours["encoded"] <= chunks
            )

    def brief(self):
        return " | ".join(self.cells())

    def cells(self):
        yield from (self.w.name, self.op, seconds(self.ours["wall"]))
        for who in ("tensorstore", "zarr", "zarrs"):
            r = self.results.get(who)
            yield f"{seconds(r['wall'])} ({r['wall'] / self.ours['wall']:.2f})" if r else "–"
        yield seconds(self.ours["daemon_cpu"])
        yield f"{self.ours['peak'] / MIB:.0f} ({self.ours['idle'] / MIB:.0f})"
        yield (
            "/".join(f"{r['peak'] / MIB:.0f}" for who, r in self.results.items() if who != "ours")
            or "–"
        )
        yield f"{self.ours['stored'] / MIB:.0f}"
        missed = [f"{want} (found {found})"
            for want, found, reached in self.targets() if not reached]
        yield "missed: " + ", ".join(missed) if missed else "all"


def chunk_count(w):
    m = WORKLOADS[w.name]
    return int(np.prod([-(-s // c) for s, c in zip(m.shape, m.chunks)]))


def markdown(rows):
    head = ("workload", "op", "zarrfs s", "tensorstore s (ratio)", "zarr-python 3",
        "zarr-python 3 + zarrs", "daemon CPU s",
            "peak MiB (idle)", "peak of peers", "stored MiB", "goals")
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
        *("| " + " | ".join(r.cells()) + " |" for r in rows)])


if __name__ == "__main__":
    print(
        markdown(run_all(options(__doc__, 3, "write,write64,over,randw,append", "tensorstore,zarr"),
        one_round, Row)))
