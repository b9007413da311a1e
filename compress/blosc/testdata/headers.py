"""Writes headers.txt: how c-blosc lays out its buffers, read from their headers.

Run with Python, numpy and numcodecs (c-blosc 1.21): python headers.py > headers.txt
Each line is: compressor, level, shuffle, bytes of an element, bytes of content, size of blocks
asked for, flags, size of blocks. The content is zeros.
"""
import numpy as np
from numcodecs import Blosc

n = 0
for cname in "blosclz", "lz4", "lz4hc", "zlib", "zstd":
    for level in range(10):
        for size in 1, 2, 3, 4, 8, 16, 24:
            for count in 96, 4992, 40032, 300000, 3000000:
                n += 1
                shuffle = n % 4 - 1
                blocksize = 0 if n % 11 else 1000
                b = Blosc(cname, level, shuffle, blocksize).encode(np.zeros(count // size,
                    f"V{size}"))
                print(cname, level, shuffle, size, count, blocksize, b[2],
                    int.from_bytes(b[8:12], "little"))
