#!/usr/bin/env python3
"""Read a file as the benchmark's operations say, and print the time as JSON.

Usage: reader.py OP FILE HEADER ITEMSIZE DIM...   (HEADER: bytes before the data)

Interpreter start and open are not counted. Reads go into one reused buffer.
"""

import json
import mmap
import os
import sys
import time

from runs import (
    HOT_READS, HOT_RUNS, MANY_READS, RAND_RUNS, RUN_BYTES, column, measured, offset, random_runs)

MIB = 1 << 20
# Seconds between the first read of chunks and the reads that are measured. Until then, a daemon may
# still give memory back that it needed for the first.
REST = 0.5


def read_all(fd, buffer):
    """Read from the start to the end, 1 MiB at a time."""
    pos = 0
    while True:
        n = os.preadv(fd, [buffer], pos)
        if n == 0:
            return pos
        pos += n


def new_buffer():
    """One MiB, page aligned and touched."""
    buffer = mmap.mmap(-1, MIB)
    buffer.write(bytes(MIB))
    return buffer


def seq(path, **_):
    fd, buffer = os.open(path, os.O_RDONLY), new_buffer()
    return measured(lambda: read_all(fd, buffer))


def warm(path, **_):
    """Whole reads again and again: the median of the fourth to the eighth. By then a mount that
    streams keeps the pages.
    """
    buffer = new_buffer()
    runs = []
    for _ in range(8):
        fd = os.open(path, os.O_RDONLY)
        runs.append(measured(lambda: read_all(fd, buffer)))
        os.close(fd)
    return {**sorted(runs[3:], key=lambda r: r["wall"])[2], "second": runs[1]["wall"]}


def readers(path, **_):
    """Four processes read the whole file at the same time."""

    def child(gate):
        fd, buffer = os.open(path, os.O_RDONLY), new_buffer()
        os.read(gate, 1)
        read_all(fd, buffer)
        os._exit(0)

    gate, start = os.pipe()
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os.close(start)
            child(gate)
        children.append(pid)

    def go():
        os.write(start, b"1234")
        for pid in children:
            if os.waitpid(pid, 0)[1] != 0:
                raise SystemExit("a reader failed")

    return measured(go)


def read_runs(fd, buffer, offsets):
    for at in offsets:
        if os.preadv(fd, [buffer], at) != RUN_BYTES:
            raise SystemExit(f"short read at {at}")


def runs_of(header, itemsize, shape, count, seed):
    indices, _ = random_runs(shape, itemsize, count, seed)
    return [header + offset(i, shape, itemsize) for i in indices]


def rand(path, header, itemsize, shape):
    fd, buffer = os.open(path, os.O_RDONLY), bytearray(RUN_BYTES)
    offsets = runs_of(header, itemsize, shape, RAND_RUNS, 1)
    return measured(lambda: read_runs(fd, buffer, offsets))


def again(offsets, count):
    """The same few reads again and again, so many in all."""
    return (offsets * (count // HOT_RUNS))[:count]


def hot(path, header, itemsize, shape, count=HOT_READS):
    """The same few reads again and again."""
    fd, buffer = os.open(path, os.O_RDONLY), bytearray(RUN_BYTES)
    offsets = runs_of(header, itemsize, shape, HOT_RUNS, 2)
    read_runs(fd, buffer, offsets)
    time.sleep(REST)
    many = again(offsets, count)
    return measured(lambda: read_runs(fd, buffer, many))


def reads(path, header, itemsize, shape):
    """The reads of hot, so often that the time of one READ shows."""
    return hot(path, header, itemsize, shape, MANY_READS)


def col(path, header, itemsize, shape):
    """One element column along axis 0 through a mapping."""
    import numpy as np

    a = np.memmap(path, f"V{itemsize}", "r", header, tuple(shape))
    index = (slice(None), *column(shape))
    return measured(lambda: np.array(a[index]))


def main():
    op, path = sys.argv[1:3]
    header, itemsize, *shape = map(int, sys.argv[3:])
    ops = {f.__name__: f for f in (seq, warm, readers, rand, hot, reads, col)}
    print(json.dumps(ops[op](path, header=header, itemsize=itemsize, shape=shape)))


if __name__ == "__main__":
    main()
