#!/usr/bin/env python3
"""Compare the speed of two zarrfs programs, on the workloads of make_workloads.py.

Usage: against.py --bin zarrfs --base older-zarrfs [--data bench-data] [--rounds 5] [--ops
seq,rand,...,write,append] [W1 ...]

Each round runs both programs once, in an order by chance. So a machine that slows down, or where
every second run is slower (some file systems do that), costs both the same. The table has the
median time of base by that of bin. Its interval holds 95 of 100 such ratios if the rounds are drawn
again (a bootstrap). More than 1 is faster, or takes less of the processor. A short run varies by a
third, so there are up to --most rounds while the interval holds LEAST.

Small reads, those of rand, hot and reads, have one processor for the mount and its reader. On two
they would measure how long one processor takes to wake the other: that is longer than the rest of a
small read, and varies more than any program. Such a run takes a few milliseconds, and what else the
machine does can only make it longer. So a round has REPEATS of them for each program, in turns, and
the fastest counts.
"""

import os
import random
import statistics
import sys
import tempfile

import bench
import write_bench

ON_ONE_CPU = ("rand", "hot", "reads")
WRITES = ("write", "over", "randw", "append")
LEAST = 0.97  # ratio of wall time below which a change has made something slower
REPEATS = 5  # of a short run
DRAWS = 1000


def run(op, w, args, binary):
    cpus = os.sched_getaffinity(0)
    if op in ON_ONE_CPU:
        os.sched_setaffinity(0, {max(cpus)})
    try:
        return run_anywhere(op, w, args, binary)
    finally:
        os.sched_setaffinity(0, cpus)


def run_anywhere(op, w, args, binary):
    args.bin = binary
    if op not in WRITES:
        return bench.run_ours(op, w, args)
    with tempfile.TemporaryDirectory(prefix="write-", dir=args.data) as folder:
        return write_bench.run_ours(op, w, write_bench.prepare(op, w, folder), args)


def one_round(op, w, args, results):
    programs = [("base", args.base), ("ours", args.new)]
    runs = {who: [] for who, _ in programs}
    for _ in range(REPEATS if op in ON_ONE_CPU else 1):
        random.shuffle(programs)
        for who, binary in programs:
            runs[who].append(run(op, w, args, binary))
    for who in runs:
        results.setdefault(who, []).append(min(runs[who], key=lambda r: r["wall"]))


def is_unclear(w, op, results):
    """Whether more rounds may show if something is slower."""
    row = Row(w, op, results)
    return row.low < LEAST <= row.high


class Row:
    """One workload and operation."""

    def __init__(self, w, op, results):
        self.names, self.rounds = (w.name, op), len(results["ours"])
        times = both(results, "wall")
        self.ratio, (self.low, self.high) = ratio(*times), interval(*times)
        self.processor = ratio(*both(results, "daemon_cpu"))

    def verdict(self):
        if self.ratio >= LEAST:
            return ""
        return "slower" if self.high < 1 else "unclear"

    def brief(self):
        return (f"| {' | '.join(self.names)} | {self.ratio:.2f} [{self.low:.2f}, {self.high:.2f}] "
            f"| {self.rounds} | {self.processor:.2f} | {self.verdict()} |")


def both(results, key):
    """What the rounds have measured of base, and of ours."""
    return [[max(run[key], 1e-9) for run in results[who]] for who in ("base", "ours")]


def ratio(base, ours):
    return statistics.median(base) / statistics.median(ours)


def interval(base, ours):
    """The bounds of 95 of 100 ratios of rounds that are drawn from these, with repetition."""
    draw = random.Random(1)
    ratios = sorted(ratio(draw.choices(base, k=len(base)), draw.choices(ours, k=len(ours)))
        for _ in range(DRAWS))
    return ratios[DRAWS // 40], ratios[-DRAWS // 40]


if __name__ == "__main__":
    args = bench.options(__doc__, 5, "seq,rand,hot,reads,col,write,append", "")
    args.new, args.base = args.bin, os.path.abspath(args.base)
    rows = bench.run_all(args, one_round, Row, lambda w, args: bench.warm_page_cache(w), is_unclear)
    print("\n".join(["| workload | op | time, base by new | rounds | processor time | |",
        "|---|---|---|---|---|---|", *(row.brief() for row in rows)]))
    sys.exit(any(row.verdict() for row in rows))
