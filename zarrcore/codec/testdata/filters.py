"""Writes filters.jsonl: what numcodecs' filters decode, over types and byte orders.

Run with Python, numpy and numcodecs; both numcodecs 0.15 with numpy 1 and 0.16 with numpy 2 write
the same file:
    python filters.py > filters.jsonl
Each line is {"config", "encoded", "decoded"}, bytes in base64. Data are made of a fixed seed.
"""
import base64
import json
import warnings

import numpy as np
from numcodecs import AsType, Categorize, Delta, FixedScaleOffset, PackBits, Quantize, Shuffle

warnings.simplefilter("ignore")
rng = np.random.RandomState(20)


def b64(a):
    return base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()


def line(codec, encoded, decoded):
    print(json.dumps({"config": codec.get_config(), "encoded": b64(encoded),
        "decoded": b64(decoded)}))


def numbers(dtype, n):
    """n numbers of a type, with the awkward ones among them."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iub":
        return (
            np.frombuffer(rng.bytes(n * dtype.itemsize), "u1").view(dtype)
            if dtype.kind != "b"
            else rng.rand(n) < .5
        )
    x = rng.randn(n) * np.array([1e-3, 1e-2, .1, 1, 10, 100, 1000])[rng.randint(0, 7, n)]
    if dtype.kind == "c":
        x = x + 1j * rng.randn(n)
    x = x.astype(dtype)
    x[:2] = [-0.0, 65000.0]
    return x


def delta():
    types = (
        "|b1 |i1 |u1 <i2 >i2 <u2 <i4 >i4 <u4 <i8 >i8 <u8 >u8 <f2 >f2 <f4 >f4 <f8 >f8 "
        "<c8 >c16".split())
    for t in types:
        if t == "|b1":
            values = numbers(t, 300)
            c = Delta(dtype=t)
            line(c, c.encode(values), values)  # numcodecs' own decoding is a running or
            continue
        encoded = numbers(t, 30 if t not in ("<f4", ">i2", "<c8") else 300)
        c = Delta(dtype=t)
        line(c, encoded, c.decode(encoded))
    mixed = ["<i4 |i1", ">i4 <i2", "<i2 >i8", "<u8 <i8", "<i8 <u8", "<u8 |i1", "<u2 |i1", "<f4 <f8",
        "<f8 <f4", "<f8 >f2",
             "<f4 |i1", "<f4 <i2", "<f4 <i4", "<f2 |i1", "<f2 <i2", "<f2 >f4", "<i4 <f4", "|u1 |b1",
             ">f8 >i8", "<c16 <c8"]
    for pair in mixed:
        t, a = pair.split()
        encoded = numbers(a, 40)
        if np.dtype(t).kind == "i" and np.dtype(a).kind == "f":
            encoded = encoded[3:] % 100
        c = Delta(dtype=t, astype=a)
        line(c, encoded, c.decode(encoded))


def fixed_scale_offset():
    for t, a, scale, offset in [("<f8", "|i1", 10, 1000), ("<f8", "<i2", 1.7, -3.25),
        (">f8", ">i4", 1e3, 0.1), ("<f4", "|u1", 3, 7),
                                ("<f8", "<f4", 0.3, 273.15), ("<f8", ">f2", 7, 0.7),
                                ("<f4", "<f4", 3, 1.1), ("<f2", "<f2", 3, 1.1),
                                ("<i4", "<i2", 1, 100), ("<i2", "<f4", 2, 5),
                                (">u2", "|u1", 1, 300), ("<f4", "<u8", 10, 0)]:
        encoded = numbers(a, 40)
        if np.dtype(t).kind in "iu" and np.dtype(a).kind == "f":
            encoded = encoded[3:] % 100
        c = FixedScaleOffset(offset=offset, scale=scale, dtype=t, astype=a)
        line(c, encoded, c.decode(encoded))


def casts():
    for t, a in [("<f8", "<f2"), ("<f8", "<f4"), (">f4", "<f2"), ("<f4", "<f4"), (">f8", "<f8")]:
        encoded = numbers(a, 40)
        c = Quantize(digits=2, dtype=t, astype=a)
        line(c, encoded, c.decode(encoded))
    pairs = ["<f8 <f4", "<f4 <f8", "<i4 <i2", "<i2 <i4", ">i4 <i4", "<u1 <i8", "<f4 <i8", "<f4 <u8",
        "<f8 >u8", "<f2 <f8", "<f2 <i2", "<i4 <f4",
             "|i1 <f8", "<u4 <f8", "|b1 |i1", "|b1 <f4", "<i2 |b1", "<f4 |b1",
             "<c8 <c16", ">c16 <c8"]
    for pair in pairs:
        t, a = pair.split()
        encoded = numbers(a, 40)
        if np.dtype(t).kind in "iu" and np.dtype(a).kind == "f":
            encoded = encoded[3:] % 100
        c = AsType(encode_dtype=a, decode_dtype=t)
        line(c, encoded, c.decode(encoded))


def bits_and_bytes():
    for n in (1, 7, 8, 9, 64, 301):
        values = rng.rand(n) < .5
        c = PackBits()
        line(c, c.encode(values), values)
    for size in (0, 1, 2, 3, 4, 8, 16, 20):
        values = np.frombuffer(rng.bytes(240), "u1")
        c = Shuffle(elementsize=size)
        line(c, np.frombuffer(c.encode(values), "u1"), values)


def labels():
    names = ["alpha", "\u0192\u00f6\u00f5", "\u00df\u0101\u1e91", "\U0001f600"]
    for t, a in [("<U4", "|u1"), (">U4", "<u2"), ("<U6", "|i1")]:
        c = Categorize(labels=names, dtype=t, astype=a)
        encoded = rng.randint(0, 6, 30).astype(a)
        line(c, encoded, c.decode(encoded))


delta()
fixed_scale_offset()
casts()
bits_and_bytes()
labels()
