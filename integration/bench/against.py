#!/usr/bin/env python3
"""Compare the speed of two zarrfs programs, on the workloads of make_workloads.py.

Usage: against.py --bin zarrfs --base older-zarrfs [--data bench-data] [--rounds 5] [--ops
seq,rand,...,write,append] [W1 ...]

Each round runs both programs once, in an order by chance. So a machine that slows down, or where
every second run is slower (some file systems do that), costs both the same. The table has the
median of the rounds' ratios: the time of base by that of bin. Its interval holds 95 of 100 such
medians if the rounds are drawn again (a bootstrap). More than 1 is faster, or takes less of the
processor. There are up to --most rounds while the interval holds LEAST.

Small reads, those of rand, hot and reads, have one processor for the mount and its reader. On two
they would measure how long one processor takes to wake the other: that is longer than the rest of a
small read, and varies more than any program.

A run of hot, or of rand where chunks are small, takes a few milliseconds, and what else the machine
does makes it several times as long. So both programs serve a mount at the same time, and one reader
goes to them in turns: a round is one turn. Those of rand have a cache that the array does not fit
in.
"""

import contextlib
import os
import random
import statistics
import sys
import tempfile

import bench
import write_bench
from daemon import Daemon

WRITES = ("write", "over", "randw", "append")
LEAST = 0.97  # ratio of wall time below which a change has made something slower
IN_TURNS = {"hot": [], "rand": ["--cache-size", "32MiB"]}  # flags of the mounts
DRAWS = 1000


@contextlib.contextmanager
def on_one_cpu():
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)


def run(op, w, args, binary):
    with on_one_cpu() if op == "reads" else contextlib.nullcontext():
        return run_anywhere(op, w, args, binary)


def run_anywhere(op, w, args, binary):
    args.bin = binary
    if op not in WRITES:
        return bench.run_ours(op, w, args)
    with tempfile.TemporaryDirectory(prefix="write-", dir=args.data) as folder:
        return write_bench.run_ours(op, w, write_bench.prepare(op, w, folder), args)


def one_round(op, w, args, results):
    if op in IN_TURNS:
        for pair in turns(op, w, args):
            for who, seconds in zip(("base", "ours"), pair):
                results.setdefault(who, []).append({"wall": seconds})
        return
    programs = [("base", args.base), ("ours", args.new)]
    random.shuffle(programs)
    for who, binary in programs:
        results.setdefault(who, []).append(run(op, w, args, binary))


def turns(op, w, args):
    """The seconds of both programs, turn by turn."""
    flags = [*args.flags, *IN_TURNS[op]]
    with (on_one_cpu(), Daemon(args.base, w.store, flags) as base,
            Daemon(args.new, w.store, flags) as ours):
        files = [os.path.join(d.dir, "a.raw") for d in (base, ours)]
        return bench.run_json([sys.executable, os.path.join(bench.HERE, "alternate.py"), op,
            *files, "0", str(w.itemsize), *map(str, w.shape)])


def is_unclear(w, op, results):
    """Whether more rounds may show if something is slower."""
    row = Row(w, op, results)
    return row.low < LEAST <= row.high


class Row:
    """One workload and operation."""

    def __init__(self, w, op, results):
        self.names, self.rounds = (w.name, op), len(results["ours"])
        wall = ratios(results, "wall")
        self.ratio, (self.low, self.high) = statistics.median(wall), interval(wall)
        processor = ratios(results, "daemon_cpu")
        self.processor = f"{statistics.median(processor):.2f}" if processor else "–"

    def verdict(self):
        if self.ratio >= LEAST:
            return ""
        return "slower" if self.high < 1 else "unclear"

    def brief(self):
        return (f"| {' | '.join(self.names)} | {self.ratio:.2f} [{self.low:.2f}, {self.high:.2f}] "
            f"| {self.rounds} | {self.processor} | {self.verdict()} |")


def ratios(results, key):
    """What base took by what ours took, of each round that has measured it."""
    return [base[key] / max(ours[key], 1e-9)
        for base, ours in zip(results["base"], results["ours"]) if key in ours]


def interval(ratios):
    """The bounds of 95 of 100 medians of ratios that are drawn from these, with repetition."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-DRAWS // 40]


if __name__ == "__main__":
    args = bench.options(__doc__, 5, "seq,rand,hot,reads,col,write,append", "")
    args.new, args.base = args.bin, os.path.abspath(args.base)
    rows = bench.run_all(args, one_round, Row, lambda w, args: bench.warm_page_cache(w), is_unclear)
    print("\n".join(["| workload | op | time, base by new | rounds | processor time | |",
        "|---|---|---|---|---|---|", *(row.brief() for row in rows)]))
    sys.exit(any(row.verdict() for row in rows))
