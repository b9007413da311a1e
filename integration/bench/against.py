#!/usr/bin/env python3
"""Compare the speed of two zarrfs programs, on the workloads of make_workloads.py.

Usage: against.py --bin zarrfs --base older-zarrfs [--data bench-data] [--rounds 3] [--ops
seq,rand,...,write,append] [W1 ...]

Each round runs both programs twice: base, bin, bin, base. So a machine that slows down, or where
every second run is slower (some file systems do that), costs both the same. The ratio of a round
is the time of base by that of bin, and the table has the medians: more than 1 is faster, or takes
less of the processor.
"""

import os
import statistics
import sys
import tempfile

import bench
import write_bench

WRITES = ("write", "over", "randw", "append")
LEAST = 0.97  # ratio of wall time below which a change has made something slower


def run(op, w, args, binary):
    args.bin = binary
    if op not in WRITES:
        return bench.run_ours(op, w, args)
    with tempfile.TemporaryDirectory(prefix="write-", dir=args.data) as folder:
        return write_bench.run_ours(op, w, write_bench.prepare(op, w, folder), args)


def one_round(op, w, args, results):
    for who in ("base", "ours", "ours", "base"):
        binary = args.base if who == "base" else args.new
        results.setdefault(who, []).append(run(op, w, args, binary))


class Row:
    """One workload and operation."""

    def __init__(self, w, op, results):
        self.cells = [w.name, op, *(self.ratio(results, key) for key in ("wall", "daemon_cpu"))]

    @staticmethod
    def ratio(results, key):
        def times(who):
            """The time of each round, which has two runs."""
            runs = [result[key] for result in results[who]]
            return [sum(runs[i : i + 2]) for i in range(0, len(runs), 2)]

        return statistics.median(base / max(ours, 1e-9)
            for base, ours in zip(times("base"), times("ours")))

    def brief(self):
        name, op, wall, cpu = self.cells
        return f"| {name} | {op} | {wall:.2f} | {cpu:.2f} | {'slower' if wall < LEAST else ''} |"


def prepare(w, args):
    bench.warm_page_cache(w)


if __name__ == "__main__":
    args = bench.options(__doc__, 3, "seq,rand,hot,col,write,append", "")
    args.new, args.base = args.bin, os.path.abspath(args.base)
    rows = bench.run_all(args, one_round, Row, prepare)
    print("\n".join(["| workload | op | time, base by new | processor time | |",
        "|---|---|---|---|---|", *(row.brief() for row in rows)]))
    sys.exit(any(row.cells[2] < LEAST for row in rows))
