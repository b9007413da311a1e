"""Writes golden.json: objects encoded by numcodecs and by Python's own modules, which our decoders
must turn into the inputs again.

Run in this folder with a Python that has numpy, numcodecs and crc32c. Inputs are written to *.bin
next to it.
"""

import base64
import bz2
import gzip
import json
import lzma
import random
import zlib

import numcodecs
import numpy as np
from numcodecs import LZ4, LZMA, Zstd
from numcodecs.checksum32 import CRC32, CRC32C, Adler32, JenkinsLookup3
from numcodecs.fletcher32 import Fletcher32

random.seed(7)
rng = np.random.default_rng(7)
inputs = {
    "ramp": (np.arange(900) * 3 + rng.integers(0, 9, 900)).astype("<u2").tobytes(),
    "text": b"the quick brown fox jumps over the lazy dog, again and again. " * 40,
    "noise": rng.integers(0, 256, 301, dtype="u1").tobytes(),
    "zeros": bytes(4000),
    "one": b"z",
}
cases = []


def add(codec, name, data, encoded, **config):
    cases.append({"codec": codec, "config": config, "input": name,
        "encoded": base64.b64encode(bytes(encoded)).decode()})


def raw_lzma(data, filters):
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters)


lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 1}
delta = {"id": lzma.FILTER_DELTA, "dist": 2}
for name, data in inputs.items():
    half = len(data) // 2
    for level in (0, 1, 6, 9):
        add("zlib", name, data, zlib.compress(data, level))
        add("gzip", name, data, gzip.compress(data, level, mtime=0))
    add("gzip", name, data,
        gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0) + bytes(3))
    for level in (1, 3, 19):
        add("zstd", name, data, Zstd(level).encode(data))
    add("zstd", name, data, Zstd(1, checksum=True).encode(data))
    add("zstd", name, data, bytes(Zstd(1).encode(data[half:]))) if half == 0 else add(
        "zstd", name, data, bytes(Zstd(1).encode(data[:half])) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" +
        bytes(Zstd(1).encode(data[half:]))
    )
    add("lz4", name, data, LZ4().encode(data))
    for level in (1, 9):
        add("bz2", name, data, bz2.compress(data, level))
    add("bz2", name, data, bz2.compress(data[:half]) + bz2.compress(data[half:]))
    for check in (lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256):
        add("lzma", name, data, lzma.compress(data, check=check), format=1)
    add("lzma", name, data,
        lzma.compress(data[:half]) + bytes(8) + lzma.compress(data[half:]), format=1)
    add("lzma", name, data, lzma.compress(data, filters=[delta, lzma2]), format=1)
    add("lzma", name, data, lzma.compress(data, preset=9 | lzma.PRESET_EXTREME), format=0)
    add("lzma", name, data, lzma.compress(data, format=lzma.FORMAT_ALONE), format=2)
    add("lzma", name, data, lzma.compress(data, format=lzma.FORMAT_ALONE), format=0)
    add("lzma", name, data, raw_lzma(data, [lzma2]), format=3, filters=[lzma2])
    add("lzma", name, data, raw_lzma(data, [delta, lzma2]), format=3, filters=[delta, lzma2])
    lzma1 = {"id": lzma.FILTER_LZMA1, "preset": 6, "lc": 1, "lp": 3, "pb": 1}
    add("lzma", name, data, raw_lzma(data, [lzma1]), format=3, filters=[lzma1])
    add("base64", name, data, base64.standard_b64encode(data))
    array = np.frombuffer(data, "u1")
    for codec in (CRC32(), Adler32(), CRC32C(), CRC32("end"), Adler32("end"), CRC32C("start")):
        add(codec.codec_id, name, data, codec.encode(array), location=codec.location)
    add("fletcher32", name, data, Fletcher32().encode(array))
    add("jenkins_lookup3", name, data, JenkinsLookup3().encode(array))
    add("jenkins_lookup3", name, data, JenkinsLookup3(initval=5,
        prefix=b"prefix of the data").encode(array), initval=5, prefix="prefix of the data")

for name, data in inputs.items():
    with open(name + ".bin", "wb") as f:
        f.write(data)
with open("golden.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases), "cases by numcodecs", numcodecs.__version__)
