#!/usr/bin/env python3
"""Read a file of two mounts in turns, and print the seconds of each turn as JSON: [[A, B], ...]

Usage: alternate.py OP FILE_A FILE_B HEADER ITEMSIZE DIM...

In a turn, the same reads go to both files, in an order by chance. Those of rand are other ones in
each turn, and those of hot are always the same. There are 200 turns, or as many as SECONDS allow.
"""

import json
import os
import random
import sys
import time

from reader import again, read_runs, runs_of
from runs import HOT_READS, HOT_RUNS, RAND_RUNS, RUN_BYTES

TURNS, SECONDS = 200, 20


def offsets_of(op, turn, header, itemsize, shape):
    if op == "rand":
        return runs_of(header, itemsize, shape, RAND_RUNS, turn)
    return again(runs_of(header, itemsize, shape, HOT_RUNS, 2), HOT_READS)


def main():
    op, *files = sys.argv[1:4]
    header, itemsize, *shape = map(int, sys.argv[4:])
    fds = [os.open(file, os.O_RDONLY) for file in files]
    buffer, took = bytearray(RUN_BYTES), []
    end = time.perf_counter() + SECONDS
    for turn in range(TURNS + 1):  # the first one opens what all others need
        offsets, seconds = offsets_of(op, turn, header, itemsize, shape), [0, 0]
        for i in random.sample((0, 1), 2):
            began = time.perf_counter()
            read_runs(fds[i], buffer, offsets)
            seconds[i] = time.perf_counter() - began
        took.append(seconds)
        if time.perf_counter() > end:
            break
    print(json.dumps(took[1:]))


if __name__ == "__main__":
    main()
