"""Writes encodes.jsonl: what numcodecs' codecs encode, byte for byte, over types and byte orders.

Run with Python, numpy and numcodecs; both numcodecs 0.15 with numpy 1 and 0.16 with numpy 2 write
the same file:
    python encodes.py > encodes.jsonl
Each line is {"config", "dtype", "plain", "encoded"}, bytes in base64. Data are made of a fixed
seed.
"""
import base64
import json
import warnings

import numpy as np
from numcodecs import (
    Adler32, AsType, Base64, BitRound, CRC32, Categorize, Delta, FixedScaleOffset, Fletcher32,
    JenkinsLookup3, PackBits, Quantize, Shuffle)
from numcodecs.checksum32 import CRC32C

warnings.simplefilter("ignore")
rng = np.random.RandomState(21)


def b64(a):
    return base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()


def line(codec, plain):
    encoded = codec.encode(plain.copy())
    encoded = np.frombuffer(encoded, "u1") if isinstance(encoded, bytes) else encoded
    print(json.dumps({"config": codec.get_config(), "dtype": plain.dtype.str, "plain": b64(plain),
        "encoded": b64(encoded)}))


def numbers(dtype, n=40):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.rand(n) < .5
    if dtype.kind in "iu":
        return np.frombuffer(rng.bytes(n * dtype.itemsize), "u1").view(dtype)
    x = rng.randn(n) * np.array([1e-3, 1e-2, .1, 1, 10, 100, 1000])[rng.randint(0, 7, n)]
    if dtype.kind == "c":
        x = x + 1j * rng.randn(n)
    x = x.astype(dtype)
    x[:2] = [-0.0, 65000.0]
    return x


TYPES = "|b1 |i1 |u1 <i2 >i2 <u2 <i4 >i4 <u4 <i8 >i8 <u8 >u8 <f2 >f2 <f4 >f4 <f8 >f8 <c8 >c16"
for t in TYPES.split():
    line(Delta(dtype=t), numbers(t, 300 if t in ("|b1", "<f4", ">i2", "<c8") else 40))
PAIRS = (
    "<i4 |i1,>i4 <i2,<i2 >i8,<u8 <i8,<i8 <u8,<u8 |i1,<u2 |i1,<f4 <f8,<f8 <f4,<f8 >f2,<f2 >f4,"
    "<i4 <f4,<f8 <i4,>f4 <i8,<c16 <c8"
)
for pair in PAIRS.split(","):
    t, a = pair.split()
    x = numbers(t).copy()
    x[0] = 1  # numcodecs refuses a first number that is not one of astype
    line(Delta(dtype=t, astype=a),
        x % 100 if np.dtype(t).kind == "f" and np.dtype(a).kind in "iu" else x)
for t in "<f4 >f4 <f8 >f8".split():
    for a in ["|u1", "<i2", ">i4", "<i8", "<f4", ">f8", "<f2"]:
        x = np.abs(numbers(t)) % 10
        line(FixedScaleOffset(offset=-1.25, scale=10.3, dtype=t, astype=a), x)
        line(FixedScaleOffset(offset=1000, scale=.1, dtype=t, astype=a), x * 100 + 1000)
for t in "<f2 >f2 <f4 >f4 <f8 >f8".split():
    for digits in (0, 1, 2, 3, 5, 8, 10) if t[2] != "2" else (0, 1, 2):
        line(Quantize(digits=digits, dtype=t), numbers(t))
    for a in "<f4", ">f8":
        line(Quantize(digits=1, dtype=t, astype=a), numbers(t))
for t, bits in ("<f2", 10), ("<f4", 23), ("<f8", 52):  # it takes none in the other byte order
    for keep in 1, 2, bits // 2, bits - 1, bits:
        line(BitRound(keepbits=keep), numbers(t, 300))
for pair in "<i4 |i1,<f8 <f4,>f4 <i2,<i8 >f4,<f4 <f8,|u1 <i8,<f2 >f8".split(","):
    t, a = pair.split()
    x = numbers(t)
    line(AsType(encode_dtype=a, decode_dtype=t), x % 100 if np.dtype(t).kind == "f" else x)
for n in (1, 7, 8, 9, 300):
    line(PackBits(), numbers("|b1", n))
for size in (2, 3, 4, 8, 16):
    line(Shuffle(elementsize=size), numbers("|u1", size * 100))
words = np.array(["a", "bb", "ccc", "", "dé", "a", "nothing", "ccc"])
for t in "<U7", ">U7", "<U3":
    x = words.astype(t)
    for a in "|u1", ">i2":
        line(Categorize(labels=["a", "ccc", "dé", "toolong", "bb"], dtype=t, astype=a), x)
for c in Adler32(), CRC32(), CRC32C(), CRC32C(location="start"), CRC32(location="end"), Adler32(
        location="end"), Fletcher32(), JenkinsLookup3(), JenkinsLookup3(initval=7), Base64():
    for n in (1, 2, 3, 4, 300) if not isinstance(c, Fletcher32) else (2, 4, 300):
        line(c, numbers("|u1", n))
