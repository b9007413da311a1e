"""Reads arrays of no fixed element size that a mount has written, as TestStringsWritten asks:
read_lines.py READER STORE NAME…

READER is zarr (2 or 3, whichever is installed), zarrs, or cut_grids for grids that neither knows.
Prints, for each array, its name and its elements in C order as a list of JSON; or its name and why
it cannot be read.
"""
import json
import os
import sys
import warnings

import zarr

import cases_vlen
import cut_grids

warnings.simplefilter("ignore")
reader, store, names = sys.argv[1], sys.argv[2], sys.argv[3:]
if reader == "zarrs":
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
for name in names:
    try:
        if reader == "cut_grids":
            elements = cut_grids.read(os.path.join(store, name))
        else:
            elements = zarr.open_array(store, path=name, mode="r")[...]
    except Exception as e:
        print(name, "refused", repr(e).replace("\n", " ")[:200])
        continue
    flat = elements.ravel().tolist() if hasattr(elements, "ravel") else [elements]
    print(name, json.dumps([cases_vlen.line(v) for v in flat]))
