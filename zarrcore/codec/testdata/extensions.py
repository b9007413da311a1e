"""Writes extensions.jsonl and casts.jsonl: what the codecs reshape, zarrs.squeeze, scale_offset and
cast_value store.

    python extensions.py chains > extensions.jsonl
    python extensions.py casts > casts.jsonl
Run with zarr 3.1, zarrs 0.2.3, cast-value 0.2 and cast-value-rs 0.5.
Each line of the first is one of chains3.jsonl, see chains.py: written by zarrs, or by zarr-python
with the codec of cast-value. zarr-python 3.1 has no scale_offset, so that one is written out below
in NumPy; "decoded" is what the writer reads back. Each line of the second is {"to", "from",
"config", "encoded", "decoded", "refused"}: numbers of the type that cast_value stores and what
cast-value-rs makes of them; "refused" are numbers that it does not cast.
"""
import base64
import json
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace

# else zarrs puts a shard's chunks in the order in which threads finish
os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np
import zarr
from cast_value.zarr_compat.v1.numpy_codec import CastValueNumpyV1
from zarr.abc.codec import ArrayArrayCodec
from zarr.registry import register_codec

warnings.simplefilter("ignore")
np.seterr(all="ignore")


def b64(b):
    return base64.b64encode(bytes(b)).decode()


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def sharding(chunk, *codecs, location="end"):
    return codec("sharding_indexed", chunk_shape=chunk, codecs=list(codecs),
        index_location=location, index_codecs=[LITTLE, {"name": "crc32c"}])


def transpose(*order):
    return codec("transpose", order=list(order))


def reshape(*shape):
    return codec("reshape", shape=list(shape))


def cast(to, **more):
    return codec("cast_value", data_type=to, **more)


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")
ZSTD, SQUEEZE = codec("zstd", level=1, checksum=False), codec("zarrs.squeeze")


@dataclass(frozen=True)
class Passed(ArrayArrayCodec):
    """A codec that zarr-python only passes on to zarrs."""
    text: str = ""
    is_fixed_size = True

    @classmethod
    def from_dict(cls, data):
        return cls(json.dumps(data))

    def to_dict(self):
        return json.loads(self.text)

    def compute_encoded_size(self, n, spec):
        return n


@dataclass(frozen=True)
class ScaleOffset(Passed):
    """scale_offset by its specification."""

    def numbers(self, spec):
        c = self.to_dict().get("configuration", {})
        return [spec.dtype.from_json_scalar(c.get(key, missing), zarr_format=3)
            for key, missing in (("offset", 0), ("scale", 1))]

    def resolve_metadata(self, spec):
        offset, scale = self.numbers(spec)
        return replace(spec,
            fill_value=(spec.dtype.to_native_dtype().type(spec.fill_value) - offset) * scale)

    async def _encode_single(self, chunk, spec):
        offset, scale = self.numbers(spec)
        return type(chunk).from_ndarray_like((chunk.as_ndarray_like() - offset) * scale)

    async def _decode_single(self, chunk, spec):
        offset, scale = self.numbers(spec)
        a = chunk.as_ndarray_like()
        out = (a // scale if a.dtype.kind in "iu" else a / scale) + offset
        assert out.dtype == a.dtype.newbyteorder("=")
        return type(chunk).from_ndarray_like(out)


@dataclass(frozen=True)
class Reshape(Passed):
    """reshape and zarrs.squeeze, for shards within shards, where zarrs 0.2.3 takes the outer shape
    for the inner one.
    """

    def to(self, shape):
        c = self.to_dict()
        if c["name"] == "reshape":
            return np.empty(shape).reshape([int(np.prod([shape[a] for a in n])) if type(n) is list
                else n for n in c["configuration"]["shape"]]).shape
        return tuple(n for n in shape if n != 1) or (1,)

    def resolve_metadata(self, spec):
        return replace(spec, shape=self.to(spec.shape))

    async def _encode_single(self, chunk, spec):
        return type(chunk).from_ndarray_like(
            np.ascontiguousarray(chunk.as_ndarray_like()).reshape(self.to(spec.shape)))

    async def _decode_single(self, chunk, spec):
        return type(chunk).from_ndarray_like(
            np.ascontiguousarray(chunk.as_ndarray_like()).reshape(spec.shape))


register_codec("reshape", Reshape)
register_codec("zarrs.squeeze", Reshape)
register_codec("scale_offset", ScaleOffset)
register_codec("cast_value", CastValueNumpyV1)  # that of cast-value-rs reads no big-endian numbers
# it takes the array's shape for the shard's behind other codecs
zarr.codecs.ShardingCodec.validate = lambda *a, **k: None
zarr.config.set(
    {"codecs.cast_value": f"{CastValueNumpyV1.__module__}.{CastValueNumpyV1.__qualname__}"})

RESHAPES = [  # name, shape, codecs
    ("reshape", (4, 6), [reshape(3, 8), LITTLE]),
    ("reshape, axes joined", (4, 6, 5), [reshape([0, 1], [2]), BIG, ZSTD]),
    ("reshape, length left free", (4, 6, 5), [reshape([0], -1, 3), LITTLE]),
    ("reshape between transposes", (4, 6, 5),
        [transpose(2, 0, 1), reshape(5, [1, 2]), transpose(1, 0), LITTLE]),
    ("reshape before shards", (8, 6), [reshape([0, 1]), sharding([12], LITTLE, ZSTD)]),
    ("transpose, reshape to the first shape, shards", (8, 6),
        [transpose(1, 0), reshape(8, 6), sharding([4, 3], LITTLE)]),
    ("reshape that adds axes before shards", (8, 6),
        [reshape(1, 8, 1, 6), sharding([1, 4, 1, 3], LITTLE)]),
    ("reshape within shards", (8, 6), [sharding([4, 3], reshape([0, 1]), LITTLE)]),
    ("squeeze", (4, 1, 6), [SQUEEZE, LITTLE]),
    ("squeeze of nothing else", (1, 1), [SQUEEZE, LITTLE]),
    ("squeeze of nothing else before shards", (1, 1), [SQUEEZE, sharding([1], LITTLE)]),
    ("squeeze before shards", (8, 1, 6), [SQUEEZE, sharding([4, 3], LITTLE, ZSTD)]),
    ("transpose, squeeze, transpose, shards", (8, 1, 6, 4), [transpose(2, 0, 1, 3), SQUEEZE,
        transpose(2, 0, 1), sharding([2, 3, 4], transpose(1, 0, 2), BIG)]),
    ("squeeze within shards", (8, 6), [sharding([1, 3], SQUEEZE, LITTLE)]),
]

NESTED = [  # name, dtype, fill, shape, codecs
    ("reshape, shards, reshape, shards", "int16", 0, (8, 6), [reshape([0, 1]),
        sharding([24], reshape(6, 4), sharding([3, 2], LITTLE, location="start"))]),
    ("squeeze, shards, reshape that adds an axis, shards", "int16", 0, (8, 1, 6), [SQUEEZE,
        transpose(1, 0), sharding([3, 4], reshape([0], 1, 4), sharding([3, 1, 2], LITTLE))]),
]

VALUES = [  # name, dtype, fill, shape, codecs
    ("scale_offset of f8", "float64", 0, (4, 6),
        [codec("scale_offset", offset=-10, scale=0.1), LITTLE]),
    ("scale_offset of f4, big", "float32", 0, (4, 6),
        [codec("scale_offset", offset="0x40200000", scale=3), BIG]),
    ("scale_offset of f2", "float16", 0, (4, 6),
        [codec("scale_offset", offset=0.1, scale=0.7), LITTLE]),
    ("scale_offset, scale alone", "float64", 0, (4, 6), [codec("scale_offset", scale=7), LITTLE]),
    ("scale_offset of nothing", "float64", 0, (4, 6), [{"name": "scale_offset"}, LITTLE]),
    ("scale_offset of i2, big", "int16", 0, (4, 6),
        [codec("scale_offset", offset=5, scale=-3), BIG]),
    ("scale_offset of i8", "int64", 0, (4, 6),
        [codec("scale_offset", offset=-2**40, scale=7), LITTLE]),
    ("scale_offset of u1", "uint8", 9, (4, 6), [codec("scale_offset", offset=1, scale=2), LITTLE]),
    ("scale_offset before shards", "float64", 20, (8, 6),
        [codec("scale_offset", offset=10, scale=0.3), sharding([4, 3], LITTLE)]),
    ("scale_offset of i4 before shards", "int32", 20, (8, 6),
        [codec("scale_offset", offset=10, scale=-3), sharding([4, 3], BIG)]),
    ("scale_offset within shards", "float64", 20, (8, 6),
        [sharding([4, 3], codec("scale_offset", offset=10, scale=0.3), LITTLE)]),
    ("cast_value", "float64", 0, (4, 6), [cast("uint8"), codec("bytes")]),
    ("cast_value to big f4", "float64", 0, (4, 6), [cast("float32"), BIG, ZSTD]),
    ("cast_value of whole numbers to f8", "int16", 0, (4, 6),
        [cast("float64", rounding="towards-zero"), LITTLE]),
    ("cast_value that wraps", "int64", 0, (4, 6),
        [cast("int8", out_of_range="wrap"), codec("bytes")]),
    ("cast_value with a map", "float32", "NaN", (8, 6),
        [cast("uint8", scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}),
        codec("bytes")]),
    ("cast_value before shards", "float64", "NaN", (8, 6), [
        cast("int16", scalar_map={"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}),
        sharding([4, 3], BIG)]),
    ("cast_value of the fill before shards", "float64", 2.5, (8, 6),
        [cast("uint8", rounding="towards-positive"), sharding([4, 3], LITTLE)]),
    ("cast_value that wraps the fill before shards", "float64", 300.5, (8, 6), [
        cast("int8", out_of_range="wrap", scalar_map={"decode": [[44, 300.5]]}),
        sharding([4, 3], LITTLE)]),
    ("cast_value within shards", "float32", 2.5, (8, 6),
        [sharding([4, 3], cast("uint8", rounding="nearest-away"), codec("bytes"))]),
    ("cast_value to its own type before shards", "int16", 3, (8, 6),
        [cast("int16"), sharding([4, 3], LITTLE)]),
    ("scale_offset, cast_value", "float64", 273.15, (8, 6),
        [codec("scale_offset", offset=273.15, scale=-0.5), cast("uint8", rounding="towards-zero"),
        codec("bytes"), ZSTD]),
    ("scale_offset, cast_value, shards", "float64", 1, (8, 6),
        [codec("scale_offset", offset=1, scale=10), cast("int16"), transpose(1, 0),
        sharding([6, 4], LITTLE)]),
    ("cast_value, scale_offset, shards", "float64", 1, (8, 6),
        [cast("int32"), codec("scale_offset", offset=-1, scale=10), sharding([4, 3], BIG)]),
]


def data(dtype, shape, fill):
    """Numbers from 1 on, in floats with halves among them; the first half of the first axis and a
    corner are fill value.
    """
    a = (np.arange(int(np.prod(shape))) + 1).astype(dtype).reshape(shape)
    if a.dtype.kind == "f":
        a += np.arange(a.size).reshape(shape) % 3 * .5
    if len(shape) > 1:
        a[: shape[0] // 2, : max(1, shape[1] // 2)] = fill
    return a


def store(writer, name, dtype, fill, shape, codecs):
    doc = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "fill_value": fill,
           "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
           "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
           "codecs": codecs, "attributes": {}}
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/zarr.json", "w") as f:
            json.dump(doc, f)
        array = zarr.open_array(folder, mode="r+")
        array[...] = data(dtype, shape, float(fill))
        decoded = array[...]
        with open("/".join([folder, "c"] + ["0"] * len(shape)), "rb") as f:
            raw = f.read()
    if '"big"' in json.dumps(codecs):
        decoded = decoded.astype(decoded.dtype.newbyteorder(">"))
    print(json.dumps({"name": name, "writer": writer, "metadata": doc, "object": b64(raw),
        "decoded": b64(np.ascontiguousarray(decoded).tobytes())}))


def chains():
    for c in VALUES:
        store("zarr-python 3", *c)
    # As above; zarrs checks what it is given.
    zarr.codecs.TransposeCodec.validate = lambda *a, **k: None
    zarr.codecs.TransposeCodec.evolve_from_array_spec = lambda self, array_spec: self
    for c in NESTED:
        store("zarr-python 3", *c)
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    warnings.filterwarnings("error", "Array is unsupported")  # else zarr-python would do the work
    for name, shape, codecs in RESHAPES:
        store("zarrs", name, "int16", 0, shape, codecs)


FLOATS = [0.0, -0.0, .4, -.4, .5, -.5, .49999999999999994, 1.5, -1.5, 2.5, -2.5, 3.7, -3.7, 127.4,
    127.5, 128, -128.5, -129, 254.5, 255.4, 255.5, 256,
          1000.25, -1000.25, 2049, 2051, 65503.9, 65504, 65519, 65520, 65536, -65519, -65520,
          16777217, 16777219, -16777217, 2**31 - .5, 2**31, -2.0**31 - 1,
          2.0**32, 2.0**53 + 2, 2.0**63, -2.0**63, 2.0**63 - 1024, 1.9e19, -1.9e19, 2.0**64, 1e30,
          -1e30, 3.4028234663852886e38, 3.4028235677973362e38,
          3.4028235677973366e38, 1e39, -1e39, 1e300, -1e300, 6e-8, 3e-8, 2.9e-8, -3e-8, 1e-45,
          7e-46, -7e-46, 1e-50, -1e-50, 5e-324, .1, -.1, 1 / 3,
          np.inf, -np.inf, np.nan]
WHOLE = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2047, 2049, 2051, -2049, 32767, 32768, -32769,
    65503, 65519, 65520, -65520, 2**24 + 1, 2**24 + 3, -2**24 - 1,
         2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**53 + 3, -2**53 - 1,
         2**60 + 2**36 - 1, 2**60 + 2**36, 2**60 + 2**36 + 1,
         2**60 + 3 * 2**36, 2**63 - 1, -2**63, 2**63, 2**64 - 1]
ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
TYPES = ["int8", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def numbers(dtype):
    if np.dtype(dtype).kind == "f":
        return np.unique(
            np.array(FLOATS, "f8").astype(dtype).view(f"u{np.dtype(dtype).itemsize}")).view(dtype)
    info = np.iinfo(dtype)
    return np.array([v for v in WHOLE if info.min <= v <= info.max], dtype)


def casts():
    from cast_value_rs import cast_array
    for source in TYPES:
        for target in TYPES:
            whole = np.dtype(target).kind != "f"
            rounded = np.dtype(source).kind == "f" or not whole
            for rounding in ROUNDINGS if rounded else ROUNDINGS[:1]:
                cast_line(cast_array, numbers(source), target, rounding, None)
            cast_line(cast_array, numbers(source), target, "towards-negative", "clamp")
            if whole and not rounded:
                cast_line(cast_array, numbers(source), target, "nearest-even", "wrap")


def cast_line(cast_array, values, target, rounding, outside):
    def decoded(v):
        return cast_array(v, target_dtype=target, rounding_mode=rounding, out_of_range_mode=outside)
    def fits(v):
        try:
            return decoded(v) is not None
        except ValueError:
            return False
    config = {"data_type": values.dtype.name, "rounding": rounding}
    if outside:
        config["out_of_range"] = outside
    good = np.array([fits(values[i: i + 1]) for i in range(len(values))])
    bad = values[~good]
    print(json.dumps({"to": target, "from": values.dtype.name, "config": config,
        "encoded": b64(values[good].tobytes()),
                      "decoded": b64(decoded(values[good]).tobytes()),
                      "refused": b64(bad.tobytes())}))


if sys.argv[1] == "chains":
    chains()
else:
    casts()
