#!/usr/bin/env python3
"""Time reads of W1 to W4 through the .nc of their group, by several libraries.

Usage: view_bench.py --bin zarrfs [--data bench-data] [--rounds 3] [--ops scan,planes,series]
                     [W1 ...]

Each read has a process and a mount of its own. A ratio is the median of the rounds' ratios: the
time of another read divided by that through the .nc. The other is of a.raw, with the goal 0.8, or
of the store itself by xarray or dask, with the goal 1.
"""

import json
import os
import shutil
import statistics
import sys

import bench
from daemon import Daemon
from make_workloads import WORKLOADS

GOALS = {"raw": 0.8, "raw_new": 0.8, "open_zarr": 1.0, "dask_zarr": 1.0}
# The libraries of each layout, and what each is compared with. netCDF4 and xarray take new memory
# for each slab of a scan.
LIBRARIES = {
    "h5py": ("raw", "open_zarr"),
    "netCDF4": ("raw_new", "open_zarr"),
    "xarray": ("raw_new", "open_zarr"),
}
LAYOUTS = {"contiguous": LIBRARIES, "chunked": {**LIBRARIES, "dask": ("dask_zarr",)}}


def has_goals(w, op, layout):
    """Whether the goals count. Between the rows of a part of an array of two axes lie others, and
    libhdf5 reads these, too, where the layout has them between: 64 KiB at once."""
    return op == "scan" or layout == "chunked" or len(w.shape) > 2


def name_axes(w, to):
    """Make a store of the same chunks whose axes have names, without which xarray opens none."""
    shutil.rmtree(to + ".part", ignore_errors=True)
    shutil.copytree(w.store, to + ".part", copy_function=os.link)
    names = ["z", "y", "x"][-len(w.shape) :]
    file, key, value = (
        ("zarr.json", "dimension_names", names)
        if w.format == 3
        else (".zattrs", "_ARRAY_DIMENSIONS", names)
    )
    path, document = os.path.join(to + ".part", "a", file), {}
    if os.path.exists(path):
        with open(path) as f:
            document = json.load(f)
        os.remove(path)  # it is a link to the other store's
    document[key] = value
    with open(path, "w") as f:
        json.dump(document, f)
    os.rename(to + ".part", to)


def read(w, library, op, path):
    """The seconds of a read. A slab has the rows of a chunk, so that nothing is decoded twice."""
    here, info = os.path.dirname(os.path.abspath(__file__)), WORKLOADS[w.name]
    return bench.run_json([sys.executable, os.path.join(here, "view_reader.py"), library, op, path,
        str(info.chunks[0]), info.dtype.str, *map(str, w.shape)])["wall"]


def one_round(w, op, store, args):
    """The seconds by layout and library. What is read as it is has the layout ""."""
    took = {("", lib): read(w, lib, op, store) for lib in ("open_zarr", "dask_zarr")}
    for lib in "raw", "raw_new":
        with Daemon(args.bin, store, args.flags) as d:
            took["", lib] = read(w, lib, op, os.path.join(d.dir, "a.raw"))
    for layout, libraries in LAYOUTS.items():
        for library in libraries:
            with Daemon(args.bin, store, ["--hdf5-layout", layout, *args.flags]) as d:
                file = os.path.join(d.dir, os.path.basename(store).replace(".zarr", ".nc"))
                took[layout, library] = read(w, library, op, file)
    return took


def main():
    args = bench.options(__doc__, 3, "scan,planes,series", "")
    print("| workload | read | layout | library | s | of raw | of xarray or dask | goals |")
    print("|" + "---|" * 8)
    reached = True
    for name in args.names or ["W1", "W2", "W3", "W4"]:
        w = bench.Workload(name, args.data)
        bench.warm_page_cache(w)
        store = os.path.join(args.data, f"named-{name}.zarr")
        if not os.path.exists(store):
            name_axes(w, store)
        for op in args.ops:
            rounds = [one_round(w, op, store, args) for _ in range(args.rounds)]
            for layout, libraries in LAYOUTS.items():
                for library, others in libraries.items():
                    found = {
                        other: statistics.median(r["", other] / r[layout, library] for r in rounds)
                        for other in others
                    }
                    good = all(found[other] >= GOALS[other] for other in others)
                    verdict = "–"
                    if has_goals(w, op, layout):
                        reached &= good
                        verdict = "reached" if good else "missed"
                    seconds = statistics.median(r[layout, library] for r in rounds)
                    raw = f"{found[others[0]]:.2f}" if len(others) > 1 else "–"
                    print(f"| {name} | {op} | {layout} | {library} | {seconds:.3f} | {raw} | "
                        f"{found[others[-1]]:.2f} | {verdict} |",
                        flush=True)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
