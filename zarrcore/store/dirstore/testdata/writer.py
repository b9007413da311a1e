"""Writes the odd elements of an array of 1000 bytes, one chunk, one element at a time: 1 each.

Usage: writer.py tensorstore|zarr2 STORE SYNCDIR. It says "ready" and waits for a line before it begins.
"""

import sys


def open_tensorstore(path, _):
    import tensorstore as ts

    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": path + "/"}, "recheck_cached_data": True}
    return ts.open(spec).result()


def open_zarr2(path, sync_dir):
    import zarr

    return zarr.open_array(path, mode="r+", synchronizer=zarr.ProcessSynchronizer(sync_dir))


library, path, sync_dir = sys.argv[1:]
array = {"tensorstore": open_tensorstore, "zarr2": open_zarr2}[library](path, sync_dir)
array[0]  # whatever is made at the first use
print("ready", flush=True)
sys.stdin.readline()
for i in range(1, 1000, 2):
    array[i] = 1
