"""Makes the frames in this folder with the zstd program (1.5 or later) and sums.txt, the SHA-256 of
what each decodes to.

    python3 generate.py
"""
import hashlib
import random
import struct
import subprocess

rng = random.Random(8878)


def text(n):
    words = [bytes(rng.choices(b"etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(200)]
    return b" ".join(rng.choices(words, k=n // 4))[:n]


def floats(n, keep):
    value, out = 280.0, []
    for _ in range(n // 4):
        value += rng.gauss(0, 0.1)
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        out.append(struct.pack("<I", bits & ~((1 << (23 - keep)) - 1)))
    return b"".join(out)


def periodic(n):
    out = bytearray()
    for period in range(1, 41):
        out += (rng.randbytes(period) * 40)[: n // 40]
    return bytes(out)


def skewed(n):
    return bytes(rng.choices(range(24), weights=[2.0 ** -i for i in range(24)], k=n))


KINDS = {
    "empty": b"",
    "one": b"x",
    "constant": b"\x07" * 20000,
    "random": rng.randbytes(600),
    "text": text(12000),
    "floats": floats(12000, 11),
    "noisy": floats(6000, 16),
    "periodic": periodic(8000),
    "skewed": skewed(12000),
    # several blocks: tables are repeated, matches reach into earlier ones
    "blocks": text(3000) * 100,
}

# With content size and without, with checksum and without, and the extremes of levels.
OPTIONS = {
    "fast": ["--fast=5"],
    "1": ["-1", "--no-check"],
    "3": ["-3"],
    "19": ["-19"],
    "22": ["--ultra", "-22", "--no-check"],
}

with open("sums.txt", "w") as sums:
    for kind, data in KINDS.items():
        for name, options in OPTIONS.items():
            size = [f"--stream-size={len(data)}"] if name in ("1", "19") and data else []
            frame = subprocess.run(["zstd", "-c", "-q", *options, *size], input=data,
                capture_output=True, check=True).stdout
            with open(f"{kind}.{name}.zst", "wb") as f:
                f.write(frame)
            print(hashlib.sha256(data).hexdigest(), len(data), f"{kind}.{name}.zst", file=sums)
