"""The random runs and columns that every contestant reads or writes: the same ones for file and
library.
"""

import random
import resource
import subprocess
import sys
import time

RUN_BYTES = 4096
RAND_RUNS, HOT_RUNS, HOT_READS, MANY_READS = 100, 16, 112, 20_000
APPENDS = 8
CLAIM = """
import mmap, os
MADV_POPULATE_WRITE = 23  # Linux 5.14
free = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
memory = mmap.mmap(-1, min(2 << 30, free // 2), flags=mmap.MAP_PRIVATE)
memory.madvise(mmap.MADV_HUGEPAGE)
memory.madvise(MADV_POPULATE_WRITE)
"""


def random_runs(shape, itemsize, count, seed):
    """Index tuples of `count` runs of 4 KiB along the last axis: leading indices, start."""
    rng = random.Random(seed)
    n = RUN_BYTES // itemsize
    return [
        (*(rng.randrange(d) for d in shape[:-1]), rng.randrange(shape[-1] - n + 1))
        for _ in range(count)
    ], n


def offset(index, shape, itemsize):
    """Byte offset of an element in the flat array."""
    flat = 0
    for i, d in zip(index, shape):
        flat = flat * d + i
    return flat * itemsize


def column(shape):
    """The trailing index of the one column that is read: near the middle, on no chunk's edge."""
    return tuple(d // 2 + 5 for d in shape[1:])


def claim_memory():
    """Use some free memory, and give it back.

    A virtual machine may have given its free memory back to the host. The host then takes 0.1 s
    for each 128 MiB that a program uses first, if these are huge pages. Whether a run meets such
    memory is chance: it depends on how long ago the run before it ended. Without this, a program
    that took its memory later looked slower by 0.4 s of 8.4.

    The memory is that of another process, since measured() reports how much this one has used.
    """
    subprocess.run([sys.executable, "-c", CLAIM], check=True)


def measured(work):
    """Run work() and return its wall and CPU seconds (this process and its children)."""
    claim_memory()

    def cpu():
        return sum(
            r.ru_utime + r.ru_stime
            for r in (resource.getrusage(resource.RUSAGE_SELF),
                resource.getrusage(resource.RUSAGE_CHILDREN))
        )

    before, began = cpu(), time.perf_counter()
    work()
    wall = time.perf_counter() - began
    return {
        "wall": wall, "cpu": cpu() - before,
        "maxrss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
