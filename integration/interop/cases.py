"""What the stores are made of: data types, fill values, shapes, sample data.

Runs under NumPy 1 and 2, so that every writer makes the same arrays.
"""

import zlib

import numpy as np

# One array of the usual kind: edge chunks on both axes.
SHAPE, CHUNKS = (11, 7), (4, 3)
# The chunk that is never written, so that its elements are the fill value.
HOLE = (slice(4, 8), slice(3, 6))


def both(kinds, orders="<>"):
    return [o + k for k in kinds for o in orders]


NUMBERS = ["|b1", "|i1", "|u1"] + both(
    ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
)
STRINGS = ["|S1", "|S5", "|S17"] + both(["U1", "U4"])
RAW = ["|V1", "|V3", "|V8"]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "10us", "25s"]
TIMES = both(["M8[ns]", "m8[ns]", "M8[s]", "m8[D]"]) + [
    f"<{kind}8[{unit}]" for unit in UNITS for kind in "Mm"
]

FLAT_STRUCTS = {
    "pair": [("a", "<i4"), ("b", "|S3")],
    "mixed": [("r", ">u2"), ("s", "<f8"), ("t", "|b1"), ("u", "<U2"), ("v", "|V2"), ("w", "|i1")],
    "time": [("when", "<M8[us]"), ("long", ">m8[s]")],
    "complex": [("z", "<c16"), ("w", ">c8")],
    "one": [("only", "<f4")],
    "named": [("with space", "<i2"), ("quote'\"", "<i2"), ("grün", "<f4")],
}
NESTED_STRUCTS = {
    "nested": [("p", [("x", "<f4"), ("y", ">f8")]), ("q", "|b1")],
    "deep": [("a", [("b", [("c", "<u2"), ("d", "|S2")]), ("e", "<i8")])],
    "sub": [("s", "<f4", (2, 2)), ("t", "<u2")],
    "subnested": [("n", [("x", "<i2", (3,)), ("y", "|S1")], (2,)), ("z", "<f8")],
}
# A field name outside Latin-1 needs version 3.0 of the .npy header.
WIDE_STRUCTS = {"wide": [("名前", "<i4"), ("x", "<f2")]}

# Shapes that go wrong easily, each with chunks.
SHAPES = {
    "0d": ((), ()),
    "1d": ((10,), (3,)),
    "1d_exact": ((12,), (4,)),
    "1d_single": ((1,), (1,)),
    "1d_over": ((3,), (10,)),
    "1d_ones": ((5,), (1,)),
    "1d_empty": ((0,), (4,)),
    "2d_empty0": ((0, 5), (2, 2)),
    "2d_empty1": ((5, 0), (2, 2)),
    "2d_row": ((1, 9), (1, 4)),
    "2d_column": ((9, 1), (4, 1)),
    "2d_whole": ((6, 5), (6, 5)),
    "3d": ((5, 6, 7), (2, 3, 4)),
    "3d_empty": ((3, 0, 2), (1, 1, 1)),
    "3d_flat": ((5, 6, 7), (1, 6, 7)),
    "3d_tall": ((5, 6, 7), (5, 1, 1)),
    "4d": ((3, 4, 5, 6), (2, 3, 2, 5)),
    "5d": ((2, 3, 2, 3, 4), (1, 2, 2, 2, 3)),
    "7d": ((2, 1, 2, 3, 1, 2, 3), (1, 1, 2, 2, 1, 1, 2)),
}


def seed_of(text):
    return zlib.crc32(text.encode())


def sample(dtype, shape, seed="x", special=True):
    """Random elements of the type; with NaN, infinities and -0 if special."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed_of(f"{dtype.str}{shape}{seed}"))
    if dtype.fields:
        return _struct(dtype, shape, rng)
    return _plain(dtype, shape, rng, special)


def _struct(dtype, shape, rng):
    out = np.zeros(shape, dtype)
    for name in dtype.names:
        field = dtype.fields[name][0]
        base, sub = field.subdtype or (field, ())
        full = tuple(shape) + tuple(sub)
        out[name] = _struct(base, full, rng) if base.fields else _plain(base, full, rng, True)
    return out


def _plain(dtype, shape, rng, special):
    n = int(np.prod(shape, dtype="i8"))
    kind = dtype.kind
    if kind == "b":
        flat = rng.integers(0, 2, n).astype("?")
    elif kind in "iu":
        flat = _integers(dtype, n, rng)
    elif kind in "fc":
        flat = _floats(dtype, n, rng, special)
    elif kind in "Mm":
        flat = rng.integers(-(10**9), 10**9, n).astype("i8")
        flat[: n // 9] = np.iinfo("i8").min  # NaT
        return flat.astype(dtype.byteorder + "i8" if dtype.byteorder in "<>"
            else "i8").view(dtype).reshape(shape)
    elif kind == "S":
        flat = np.array([_text(rng, dtype.itemsize, "abcXYZ 09").encode() for _ in range(n)], dtype)
    elif kind == "U":
        flat = np.array([_text(rng, dtype.itemsize // 4, "aé√名😀 z") for _ in range(n)], dtype)
    elif kind == "V":
        flat = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype)
    else:
        raise ValueError(f"no sample of {dtype}")
    return np.array(flat.reshape(shape), dtype=dtype)


def _integers(dtype, n, rng):
    info = np.iinfo(dtype)
    flat = rng.integers(info.min, info.max, n, dtype=dtype.newbyteorder("="), endpoint=True)
    # Half of them small, so that compressors have something to find.
    return np.where(rng.integers(0, 2, n).astype("?"), flat, flat % 7).astype(dtype)


def _floats(dtype, n, rng, special):
    values = np.round(rng.standard_normal(n) * 100, 2)
    if dtype.kind == "c":
        values = values + 1j * np.round(rng.standard_normal(n), 1)
    if special and n >= 8:
        values[:4] = [np.nan, np.inf, -np.inf, -0.0]
    return values.astype(dtype)


def _text(rng, width, letters):
    return "".join(letters[i] for i in rng.integers(0, len(letters), rng.integers(0, width + 1)))


def fills(dtype):
    """Names and values of fill values worth a test, the odd ones first."""
    dtype = np.dtype(dtype)
    kind = dtype.kind
    if dtype.fields:
        return {"zero": np.zeros((), dtype)[()], "odd": sample(dtype, (9,), "fill")[5]}
    if kind == "b":
        return {"true": True, "false": False}
    if kind in "iu":
        info = np.iinfo(dtype)
        return {"max": info.max, "min": info.min, "small": 7}
    if kind == "f":
        return {"nan": np.nan, "inf": np.inf, "neginf": -np.inf, "half": 1.5, "tenth": 0.1,
            "negzero": -0.0}
    if kind == "c":
        return {"odd": 1.5 - 2j, "nan": complex(np.nan, np.inf), "neg": complex(-0.0, -np.inf)}
    if kind in "Mm":
        return {"nat": np.array("NaT", dtype)[()], "one": np.array(42, "i8").astype(dtype.str)[()]}
    if kind == "S":
        return {"text": b"abcdefghijk"[: dtype.itemsize], "empty": b""}
    if kind == "U":
        return {"text": "é√z😀"[: dtype.itemsize // 4], "empty": ""}
    if kind == "V":
        return {"bytes": np.frombuffer(bytes(range(1, dtype.itemsize + 1)), dtype)[0]}
    raise ValueError(f"no fill values for {dtype}")


def full(dtype, shape, fill):
    """An array that holds nothing but the fill value (None: zero bytes)."""
    out = np.zeros(shape, dtype)
    if fill is not None:
        out[...] = np.array(fill, dtype)
    return out


def name_of(dtype):
    """A dtype as part of an array's name: <f4 is f4, >f4 is f4be."""
    text = np.dtype(dtype).str
    order, rest = text[0], text[1:].replace("[", "_").replace("]", "")
    return rest + ("be" if order == ">" else "")


def hole_for(shape, chunks):
    """The second chunk of each axis (the first where there is one only): a hole for any shape."""
    cut = []
    for n, c in zip(shape, chunks):
        first = c if n > c else 0
        cut.append(slice(first, min(n, first + c)))
    return tuple(cut)
