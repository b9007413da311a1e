"""Makes vectors.zip: buffers of c-blosc, named by what they hold.

A name is CODEC-FILTER-TYPESIZE-BLOCKSIZE-CONTENT-SIZE; blosc_test.go makes the
same contents again and compares. Needs numcodecs 0.16 or newer; the buffers of
snappy, which it leaves out, need libblosc.so.1 built with that codec.

    python make_vectors.py
"""

import ctypes
import os
import zipfile

from numcodecs import blosc

HERE = os.path.dirname(os.path.abspath(__file__))


def ramp(size, typesize):
    """Elements 0, 3, 6, …, little-endian, of at most 8 significant bytes."""
    out = bytearray()
    for k in range(size // typesize + 1):
        out += (k * 3).to_bytes(8, "little")[:typesize].ljust(typesize, b"\0")
    return bytes(out[:size])


def wave(size, typesize):
    """Bytes that repeat at several distances, near and far."""
    return bytes(((i * 3 >> 4) ^ (i >> 9)) & 0x3F for i in range(size))


def runs(size, typesize):
    """Long runs of one byte."""
    return bytes((i >> 10) & 0xFF for i in range(size))


def noise(size, typesize):
    """Bytes of a linear congruential generator: does not compress."""
    out, x = bytearray(), 1
    for _ in range(size):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(x >> 56)
    return bytes(out)


def mixed(size, typesize):
    """Noise and zeros in turn, so that some streams are stored."""
    n = noise(size, typesize)
    return bytes(n[i] if i >> 11 & 1 else 0 for i in range(size))


def far(size, typesize):
    """Noise that repeats at a distance of more than 8 KiB."""
    n = noise(300, typesize)
    return bytes(n[i % 9001] if i % 9001 < 300 else i // 9001 for i in range(size))


CONTENTS = {f.__name__: f for f in (ramp, wave, runs, noise, mixed, far)}


def set_splits(blocksize):
    """Blocks of a chosen size only stay so small where c-blosc does not split."""
    os.environ["BLOSC_SPLITMODE"] = "NEVER" if blocksize else "FORWARD_COMPAT"


def compress_numcodecs(data, codec, filt, typesize, blocksize):
    return blosc.compress(data, codec.encode(), 5, filt, blocksize, typesize=typesize)


def compress_libblosc(data, codec, filt, typesize, blocksize):
    lib = ctypes.CDLL("libblosc.so.1")
    lib.blosc_set_compressor(codec.encode())
    lib.blosc_set_blocksize(ctypes.c_size_t(blocksize))
    out = ctypes.create_string_buffer(len(data) + 16)
    n = lib.blosc_compress(
        ctypes.c_int(5), ctypes.c_int(filt), ctypes.c_size_t(typesize),
        ctypes.c_size_t(len(data)), data, out, ctypes.c_size_t(len(out)))
    assert n > 0, (codec, n)
    return out.raw[:n]


def cases():
    for codec in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"):
        for filt in (0, 1, 2):
            for typesize in (1, 2, 4, 8, 16, 3, 12, 24):
                yield codec, filt, typesize, 0, "ramp", 2400 // typesize * typesize
            for typesize, size in ((2, 4201), (4, 4999), (8, 2561), (3, 2500)):
                yield codec, filt, typesize, 2048, "wave", size
            yield codec, filt, 4, 4096, "wave", 6200
            yield codec, filt, 4, 0, "runs", 100000
            yield codec, filt, 2, 0, "runs", 270001
            yield codec, filt, 2, 4096, "mixed", 6144
            for size in (0, 1, 7, 127, 128, 129):
                yield codec, filt, 1, 0, "runs", size
        yield codec, 1, 4, 0, "noise", 1000
        yield codec, 2, 2, 256, "noise", 1000
        yield codec, 0, 8, 0, "noise", 136
        yield codec, 0, 1, 0, "far", 40000


def main():
    path = os.path.join(HERE, "vectors.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for codec, filt, typesize, blocksize, content, size in cases():
            set_splits(blocksize)
            data = CONTENTS[content](size, typesize)
            make = compress_libblosc if codec == "snappy" else compress_numcodecs
            name = "%s-%d-%d-%d-%s-%d" % (codec, filt, typesize, blocksize, content, size)
            info = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, make(data, codec, filt, typesize, blocksize))
    print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
