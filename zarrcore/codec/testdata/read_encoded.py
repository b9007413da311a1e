"""Reads what zarrfs encoded, as TestPeersRead asks: read_encoded.py READER FOLDER.

READER is zarr (2 or 3, whichever is installed), zarrs (through zarr-python 3), zarrs-alone or
tensorstore. FOLDER holds NAME.zarr, arrays of one object each, and NAME.bin, their elements in C
order and in the array's byte order. Prints one line for each: the name, and "equal", "different" or
"refused" with the reason.
"""
import json
import pathlib
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
reader, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def tensorstore(path):
    import tensorstore as ts

    driver = "zarr3" if (path / "zarr.json").exists() else "zarr"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
    array = ts.open(spec, read=True, open=True).result()
    return lambda: array.read().result()


def zarr(path):
    import zarr as z

    if reader == "zarrs":
        z.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = z.open_array(str(path), mode="r")
    return lambda: array[...]


def zarrs_alone(path):
    """zarrs without zarr-python, which lacks words for some of its codecs; of the one chunk."""
    from zarr.storage import LocalStore
    from zarrs._internal import ChunkItem, CodecPipelineImpl

    document = json.loads((path / "zarr.json").read_text())
    pipeline = CodecPipelineImpl(json.dumps(document), store_config=LocalStore(path),
        validate_checksums=True)
    found = np.zeros(document["shape"], document["data_type"])
    whole = [slice(0, n) for n in found.shape]

    def read():
        pipeline.retrieve_chunks_and_apply_index(
            [ChunkItem("c/0/0", whole, found.shape, whole, found.shape)], found)
        return found

    return read


READERS = {"zarr": zarr, "zarrs": zarr, "zarrs-alone": zarrs_alone, "tensorstore": tensorstore}


def big_endian(path):
    if (path / "zarr.json").exists():
        return '"endian": "big"' in json.dumps(
            json.loads((path / "zarr.json").read_text())["codecs"])
    return json.loads((path / ".zarray").read_text())["dtype"][0] == ">"


for path in sorted(folder.glob("*.zarr")):
    try:
        read = READERS[reader](path)
    except Exception as e:
        print(path.stem, "refused", repr(e).replace("\n", " ")[:150])
        continue
    try:
        found = np.asarray(read())
        found = found.astype(found.dtype.newbyteorder(">" if big_endian(path) else "<")).tobytes()
        print(path.stem,
            "equal" if found == (folder / (path.stem + ".bin")).read_bytes() else "different")
    except Exception as e:
        print(path.stem, "different", repr(e).replace("\n", " ")[:300])
