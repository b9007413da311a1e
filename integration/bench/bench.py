#!/usr/bin/env python3
"""Compare a zarrfs mount with plain files and libraries, on the workloads of make_workloads.py.

Usage: bench.py --bin zarrfs [--data bench-data] [--rounds 5] [--ops seq,rand,...] [W1 W2 ...]

Each round runs every contestant once, one after the other, so that all see the
same machine: a fresh daemon for zarrfs, a fresh process for each peer, the
store in the page cache. The table on standard output has the medians.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np

import report
from daemon import Daemon
from make_workloads import WORKLOADS

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("tensorstore", "zarr", "zarrs")
# The contestants of each operation. A warm re-read and four readers are things that files have and
# libraries do not. `seq128` is seq with a cache smaller than one slab.
CONTESTANTS = {
    "seq": ("plain", *LIBRARIES), "seq128": (), "rand": LIBRARIES, "hot": ("plain", *LIBRARIES),
    "col": ("plain", *LIBRARIES), "warm": ("plain",), "readers": ("plain",),
}
FLAGS = {"seq128": ["--cache-size", "128MiB"]}
ONLY_W2 = ("seq128", "write64")  # operations with a budget that only that workload exceeds
PATIENCE = 600  # seconds for one run


class Workload:
    def __init__(self, name, data):
        self.name, w = name, WORKLOADS[name]
        self.shape, self.itemsize, self.nbytes, self.format = (
            w.shape, w.dtype.itemsize, w.nbytes, w.format)
        self.store, self.plain = (
            os.path.join(data, name + ".zarr"), os.path.join(data, name + ".npy"))
        self.header = os.path.getsize(self.plain) - self.nbytes


def run_json(command):
    """Run a fresh process and return what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}")
    return json.loads(done.stdout)


def read_file(op, w, path, header):
    op = "seq" if op == "seq128" else op
    return run_json([sys.executable, os.path.join(HERE, "reader.py"), op, path, str(header),
        str(w.itemsize),
                     *map(str, w.shape)])


def run_ours(op, w, args):
    with Daemon(args.bin, w.store, [*args.flags, *FLAGS.get(op, [])]) as d:
        result = read_file(op, w, os.path.join(d.dir, "a.raw"), 0)
        memory, status = d.memory(), d.status()
        result.update(
            daemon_cpu=d.cpu() - d.cpu0, peak=memory["VmHWM"], idle=d.idle,
            decoded=status["bytes_decoded"],
            served=status["bytes_served"], chunks=status["chunks_decoded"],
            cache=status.get("cache_size", 0),
            scratch=status.get("scratch_used", 0))
    return result


def run_peer(who, op, w, args):
    if who == "plain":
        return read_file(op, w, w.plain, w.header)
    python = args.python or sys.executable
    return run_json([python, os.path.join(HERE, "peer.py"), who, op, w.store, "a", str(w.format)])


def one_round(op, w, args, results):
    for who in ("ours", *(p for p in CONTESTANTS[op] if p in args.peers)):
        try:
            result = run_ours(op, w, args) if who == "ours" else run_peer(who, op, w, args)
        except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError) as err:
            print(f"{w.name} {op} {who}: {type(err).__name__} {err}", file=sys.stderr, flush=True)
            continue
        results.setdefault(who, []).append(result)


def medians(results):
    return {
        who: {key: statistics.median(r[key] for r in runs) for key in runs[0]}
        for who, runs in results.items()
    }


def warm_page_cache(w):
    """Read the store and its decoded copy once, so that no run pays for the disk."""
    for base, _, files in os.walk(w.store):
        for name in files:
            with open(os.path.join(base, name), "rb") as f:
                while f.read(1 << 20):
                    pass
    with open(w.plain, "rb") as f:
        while f.read(1 << 20):
            pass


def check(w, args):
    """The mount must show exactly the decoded copy; a wrong answer has no speed."""
    want = np.load(w.plain, mmap_mode="r").reshape(-1).view("u1")
    with Daemon(args.bin, w.store, args.flags) as d, open(os.path.join(d.dir, "a.raw"), "rb",
            buffering=0) as f:
        at = 0
        while part := f.read(1 << 20):
            if part != want[at : at + len(part)].tobytes():
                raise SystemExit(f"{w.name}: the mount's bytes differ from the decoded copy in "
                    f"[{at}, {at + len(part)})")
            at += len(part)
        if at != w.nbytes:
            raise SystemExit(f"{w.name}: the mount shows {at} bytes, expected {w.nbytes}")


def options(doc, rounds, ops, peers):
    """The options of a benchmark, with its defaults."""
    p = argparse.ArgumentParser(description=doc.splitlines()[0])
    p.add_argument("--bin", required=True, help="the zarrfs binary")
    p.add_argument("--base", help="another zarrfs binary, which against.py compares it with")
    p.add_argument("--data", default="bench-data",
        help="folder of the workloads; what is written is written there too")
    p.add_argument("--python", help="the Python that has the peers' packages (default: this one)")
    p.add_argument("--rounds", type=int, default=rounds)
    p.add_argument("--most", type=int, default=60,
        help="rounds at most, where more than --rounds are made while the results are unclear")
    p.add_argument("--ops", default=ops)
    p.add_argument("--peers", default=peers)
    p.add_argument("--flags", default="",
        help="further flags for zarrfs mount, separated by spaces")
    p.add_argument("--no-check", action="store_true", help="do not compare the bytes")
    p.add_argument("--json", help="file for all single results")
    p.add_argument("names", nargs="*", metavar="W")
    args = p.parse_args()
    args.bin, args.data = os.path.abspath(args.bin), os.path.abspath(args.data)
    args.ops, args.peers, args.flags = (
        args.ops.split(","), args.peers.split(","), args.flags.split())
    return args


def run_all(args, one_round, row, prepare=lambda w, args: None,
        is_unclear=lambda w, op, results: False):
    """Run all rounds of all workloads and operations, and return a row of the table for each. While
    the results are unclear, there are more rounds, but at most args.most."""
    everything, rows = {}, []
    for name in args.names or sorted(WORKLOADS):
        w = Workload(name, args.data)
        prepare(w, args)
        for op in args.ops:
            if op in ONLY_W2 and name != "W2":
                continue
            results = {}
            for _ in range(args.rounds):
                one_round(op, w, args, results)
            while is_unclear(w, op, results) and len(results["ours"]) < args.most:
                one_round(op, w, args, results)
            everything[f"{name} {op}"] = results
            if "ours" in results:
                rows.append(row(w, op, results))
                print(rows[-1].brief(), file=sys.stderr, flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(everything, f, indent=1)
    return rows


def prepare(w, args):
    warm_page_cache(w)
    if not args.no_check:
        check(w, args)


if __name__ == "__main__":
    args = options(__doc__, 5, "seq,seq128,rand,hot,col,warm,readers",
        "plain,tensorstore,zarr,zarrs")
    print(report.markdown(run_all(args, one_round,
        lambda w, op, results: report.Row(w.name, op, w.nbytes, medians(results)), prepare)))
