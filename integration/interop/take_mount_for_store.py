"""Opens a mount as if it were a store, in all the ways that zarr-python, tensorstore and xarray
have, and prints what comes of each.

Arguments: the mount, which has an array a and a group g. Each line is JSON: the name of the
attempt, and its error or null.
"""

import json
import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")
mnt = sys.argv[1]
v3 = int(zarr.__version__.split(".")[0]) >= 3
x = np.arange(3.0)

attempts = {
    "read open_group": lambda: zarr.open_group(mnt, mode="r"),
    "read open": lambda: zarr.open(mnt, mode="r"),
    "read subgroup": lambda: zarr.open(mnt + "/g", mode="r"),
    "read array": lambda: zarr.open_array(mnt + "/a", mode="r"),
    "read loaded": lambda: zarr.load(mnt),
    "read consolidated": lambda: zarr.open_consolidated(mnt),
    "write array": lambda: zarr.open_array(mnt + "/a"),
    "write open_group": lambda: zarr.open_group(mnt, mode="a").create_array("n", shape=3,
        dtype="f4"),
    "write subgroup": lambda: zarr.open(mnt + "/g"),
    "write save": lambda: zarr.save(mnt + "/new.zarr", x),
    "write open_array": lambda: zarr.open_array(mnt + "/n", mode="a", shape=(3,), dtype="f4"),
    "write open_array w": lambda: zarr.open_array(mnt + "/n", mode="w", shape=(3,), dtype="f4"),
    "write open_array w-": lambda: zarr.open_array(mnt + "/n", mode="w-", shape=(3,), dtype="f4"),
    "write open_group w": lambda: zarr.open_group(mnt + "/n", mode="w"),
    "write open": lambda: zarr.open(mnt + "/n", mode="a"),
    "write save_group": lambda: zarr.save_group(mnt + "/n", v=x),
    "write save deep": lambda: zarr.save(mnt + "/p/q/new.zarr", x),
}
if v3:
    from zarr.core.group import GroupMetadata

    attempts |= {
        "read unconsolidated": lambda: zarr.open_group(mnt, mode="r", use_consolidated=False),
        "read 2": lambda: zarr.open(mnt, mode="r", zarr_format=2),
        "read group 2": lambda: zarr.open_group(mnt + "/g", mode="r", zarr_format=2),
        "read group 2 by path": lambda: zarr.open_group(mnt, path="g", mode="r", zarr_format=2),
        "read unconsolidated 2": lambda: zarr.open_group(
            mnt, mode="r", zarr_format=2, use_consolidated=False),
        "read to write 2": lambda: zarr.open_group(mnt, mode="a", zarr_format=2),
        "write create_array": lambda: zarr.create_array(mnt + "/n", shape=(3,), dtype="f4"),
        "write create_array by name": lambda: zarr.create_array(mnt, name="n", shape=(3,),
            dtype="f4"),
        "write create_group": lambda: zarr.create_group(mnt + "/n"),
        "write open_group 3": lambda: zarr.open_group(mnt + "/n", mode="a", zarr_format=3),
        "write open_group 3 deep": lambda: zarr.open_group(mnt + "/p/n", mode="a", zarr_format=3),
        "write open_group 3 path": lambda: zarr.open_group(mnt, path="n", mode="a", zarr_format=3),
        "write open 2": lambda: zarr.open(mnt + "/n", mode="a", zarr_format=2),
        "write open_array 3": lambda: zarr.open_array(mnt + "/n", mode="w-", zarr_format=3, shape=3,
            dtype="f4"),
        "write group 3": lambda: zarr.group(mnt + "/n", zarr_format=3),
        "write load": lambda: zarr.load(mnt + "/n"),
        "write hierarchy": lambda: dict(zarr.create_hierarchy(
            store=zarr.storage.LocalStore(mnt + "/n"),
            nodes={"": GroupMetadata(), "b": GroupMetadata()})),
        "write format 2": lambda: zarr.create_array(mnt + "/n", shape=(3,), dtype="f4",
            zarr_format=2),
    }
try:
    import tensorstore as ts
except ImportError:
    pass
else:
    def tensorstore(driver, path, **how):
        return ts.open({"driver": driver, "kvstore": "file://" + mnt + path}, **how).result()

    grid = {"name": "regular", "configuration": {"chunk_shape": [3]}}
    known = {"shape": [3], "data_type": "float64", "chunk_grid": grid}
    new = {"create": True, "dtype": "float32", "shape": [3]}
    attempts |= {
        "read tensorstore": lambda: tensorstore("zarr3", "/"),
        "read tensorstore auto": lambda: ts.open("file://" + mnt + "/").result(),
        "write tensorstore": lambda: tensorstore("zarr3", "/n/", **new),
        "write tensorstore deep": lambda: tensorstore("zarr3", "/p/q/", **new),
        "write tensorstore format 2": lambda: tensorstore("zarr", "/n/", **new),
        "write tensorstore chunk": lambda: (
            tensorstore("zarr3", "/n/", open=True, assume_metadata=True, metadata=known)
            .write(x).result()),
        "write tensorstore n5": lambda: tensorstore("n5", "/n/", **new),
        "write tensorstore array": lambda: tensorstore("zarr3", "/a/", **new),
    }
try:
    import xarray as xr
except ImportError:
    print(json.dumps(["xarray", None]))
else:
    ds = xr.Dataset({"v": ("x", x)})
    attempts |= {
        "read xarray": lambda: xr.open_zarr(mnt),
        "read xarray unconsolidated": lambda: xr.open_zarr(mnt, consolidated=False),
        "read xarray subgroup": lambda: xr.open_zarr(mnt + "/g"),
        "read xarray group": lambda: xr.open_zarr(mnt, group="g"),
        "read xarray 2": lambda: xr.open_zarr(mnt, zarr_format=2),
        "read xarray unconsolidated 2": lambda: xr.open_zarr(
            mnt, zarr_format=2, consolidated=False),
        "read xarray group 2": lambda: xr.open_zarr(mnt, group="g", zarr_format=2),
        "write xarray": lambda: ds.to_zarr(mnt),
        "write xarray append": lambda: ds.to_zarr(mnt, mode="a"),
        "write xarray new": lambda: ds.to_zarr(mnt + "/new.zarr"),
        "write xarray new format 2": lambda: ds.to_zarr(mnt + "/new.zarr", zarr_format=2),
        "write xarray new 3": lambda: ds.to_zarr(mnt + "/new.zarr", mode="a", zarr_format=3),
        "write xarray new append": lambda: ds.to_zarr(mnt + "/new.zarr", mode="a"),
        "write xarray new group": lambda: ds.to_zarr(mnt + "/new.zarr", group="a/b"),
    }
for name, attempt in attempts.items():
    try:
        attempt()
        print(json.dumps([name, None]))
    except Exception as e:
        print(json.dumps([name, f"{type(e).__name__}: {e}"]))
