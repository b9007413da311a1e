#!/usr/bin/env python3
"""Writes headers.json: the headers that NumPy writes for many descrs, orders and shapes.

Run with NumPy 1.26 and with 2.x: both write the same file.
A case with "fields": n stands for the descr [('f0', '<f8'), ('f1', '<f8'), ...] of n fields.
"""
import hashlib, io, itertools, json, os, warnings
import numpy as np
from numpy.lib import format as npformat

warnings.simplefilter("ignore")


def header(descr, fortran, shape):
    out = io.BytesIO()
    d = {"descr": descr, "fortran_order": fortran, "shape": shape}
    impl = getattr(npformat, "_write_array_header", None)
    if impl is None:
        from numpy.lib import _format_impl
        impl = _format_impl._write_array_header
    impl(out, d)
    return out.getvalue()


DESCRS = [
    "<f4", "|b1", "|u1", ">i8", "<U5", "|S3", "|V7", "<M8[10us]", "<c16", "|O",
    [("a", "<i4"), ("b", "|S3", (2,))],
    [("x", [("y", ">f8"), ("z", "|u1")], (2, 2)), ("it's", "<i2")],
    [("é", "<i4")],                # Latin-1: still 1.0
    [("日本", "<i4"), ("b", "|u1")],  # not Latin-1: 3.0
    [("\U0001f600", "<i4")],
    [("tab\t\"'\\", "<i4")],
]
SHAPES = [(), (0,), (3,), (7, 0), (1, 2, 3), (10**18,), (2**63 - 1,), (5, 10**12), (1,) * 32]

cases = []
for descr, shape, fortran in itertools.product(DESCRS, SHAPES, [False, True]):
    h = header(descr, fortran, shape)
    cases.append({"descr": repr(descr), "fortran": fortran, "shape": shape,
        "header": h.decode("latin1")})

# every length of text around the padding's step, and around the end of version 1.0
for n in range(1, 70):
    descr = [("n" * n, "<i4")]
    cases.append({"descr": repr(descr), "fortran": False, "shape": (4,),
        "header": header(descr, False, (4,)).decode("latin1")})
for fields in [3000, 3675, 3676, 3677, 3678, 3679, 3680, 3700, 4000]:
    descr = [("f%d" % i, "<f8") for i in range(fields)]
    h = header(descr, False, (4,))
    cases.append({"fields": fields, "fortran": False, "shape": (4,), "length": len(h),
        "version": h[6],
                  "sha256": hashlib.sha256(h).hexdigest()})

# what np.save itself writes
for a in [np.zeros((2, 3), "<f4"), np.zeros((2, 3), "<f4", order="F"), np.array(1.5),
    np.zeros(4, "<U2"),
          np.zeros(2, [("a", "<i4"), ("b", "<f8", (2, 2))]), np.zeros((2, 1), "<M8[us]")]:
    out = io.BytesIO()
    np.save(out, a)
    h = out.getvalue()[: len(out.getvalue()) - a.nbytes]
    fortran = not a.flags.c_contiguous
    cases.append({"descr": repr(npformat.dtype_to_descr(a.dtype)), "fortran": fortran,
        "shape": a.shape, "header": h.decode("latin1")})

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers.json"), "w",
        encoding="utf8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
