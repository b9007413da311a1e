#!/usr/bin/env python3
"""Writes branch.json: bytes that look like machine code, as liblzma's branch filters change them.

Each case has the filter's id, the position of the first byte, what the filter makes of code.bin (by a chain of it and LZMA2 whose
LZMA2 alone is undone), and a small .xz file of the chain. Python's lzma module lacks ARM64, which the program xz (5.4 or later) writes.
"""
import base64
import json
import lzma
import random
import struct
import subprocess

random.seed(11)


def code():
    """What each filter takes for calls and what it nearly does, at all alignments, among other bytes."""
    out = bytearray()
    extremes = lambda n: bytes(random.choice((0, 0, 0xFF, random.randrange(256), 0xE8)) for _ in range(n))
    for _ in range(40):
        out += random.choice((b"\xe8", b"\xe9", b"\xe8\xe9", b"\x90")) + extremes(random.randrange(1, 6))  # x86
    out += bytes(-len(out) % 16)
    words = lambda *tops: random.choice(tops) | random.getrandbits(24)
    for _ in range(24):
        out += struct.pack("<I", words(0xEB << 24, 0xEA << 24, 0x94 << 24, 0x97 << 24))  # ARM, and ARM64's BL
        out += struct.pack("<I", 0x90000000 | random.choice((0, 0xE00000, random.getrandbits(31) & 0x60FFFFFF)) | random.getrandbits(21))  # ADRP
        out += struct.pack(">I", words(0x48 << 24, 0x4B << 24) & ~3 | random.choice((1, 1, 3)))  # PowerPC
        out += struct.pack(">I", random.choice((0x40 << 24, 0x7FC << 20)) | random.getrandbits(22 + random.randrange(2)))  # SPARC
        out += struct.pack("<HH", 0xF000 | random.getrandbits(11), 0xF800 | random.getrandbits(11))  # ARM-Thumb
        out += bytes(random.choice((0, 2)))
    out += bytes(-len(out) % 16)
    for template in list(range(32)) * 2:  # IA-64: br.call in all slots, or nearly
        bundle = template
        for slot in range(3):
            op = 5 << 37 | random.getrandbits(37) & ~(random.choice((7, 7, 0)) << 9)
            bundle |= op << (5 + 41 * slot)
        out += bundle.to_bytes(16, "little")
    return bytes(out) + b"\xe8\x01\x00"


data = code()
lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 0}
cases = []


def add(id, start, filtered, xz):
    cases.append({
        "id": id, "start": start, "filtered": base64.b64encode(filtered).decode(), "xz": base64.b64encode(xz).decode(),
    })


for id in (lzma.FILTER_X86, lzma.FILTER_POWERPC, lzma.FILTER_IA64, lzma.FILTER_ARM, lzma.FILTER_ARMTHUMB, lzma.FILTER_SPARC):
    for start in (0, 0xFFFFFF00):
        chain = [{"id": id, "start_offset": start}, lzma2]
        raw = lzma.compress(data, format=lzma.FORMAT_RAW, filters=chain)
        filtered = lzma.decompress(raw, format=lzma.FORMAT_RAW, filters=[lzma2])
        add(id, start, filtered, lzma.compress(data, filters=chain))
for start in (0, 0xFFFFFF00):
    run = lambda *args, input=data: subprocess.run(["xz", "-c", *args], input=input, stdout=subprocess.PIPE, check=True).stdout
    chain = [f"--arm64=start={start}", "--lzma2=preset=0"]
    raw = run("--format=raw", *chain)
    add(10, start, run("-d", "--format=raw", "--lzma2=preset=0", input=raw), run("--format=xz", *chain))

with open("code.bin", "wb") as f:
    f.write(data)
with open("branch.json", "w") as f:
    json.dump(cases, f, indent=0)
