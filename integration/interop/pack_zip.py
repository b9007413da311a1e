"""Packs a store in a folder into a zip file, by zarr-python's ZipStore.

Arguments: the folder, the zip file. All objects are written, and the document of the root a second
time, as zarr-python does when attributes are set.
"""

import pathlib
import sys

import zarr

folder, target = pathlib.Path(sys.argv[1]), sys.argv[2]
files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
objects = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]
objects += [(key, data) for key, data in objects if key in (".zattrs", "zarr.json")]

if int(zarr.__version__.split(".")[0]) >= 3:
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    store = zarr.storage.ZipStore(target, mode="w")
    to_buffer = default_buffer_prototype().buffer.from_bytes
    for key, data in objects:
        sync(store.set(key, to_buffer(data)))
else:
    store = zarr.ZipStore(target, mode="w")
    for key, data in objects:
        store[key] = data
store.close()
