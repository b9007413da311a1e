#!/usr/bin/env python3
"""Writes golden files of data types: each line is one type, a fill value, and what they mean.

    generate.py with zarr 2.18 (NumPy 1)              writes v2.json
    generate.py with zarr 3.1, NumPy 2 and ml_dtypes  writes v3.json

Members: "format"; "type", as in the document; "fill", the text of fill_value (maybe no strict JSON);
"order", the byte order to take in format 3; "size", "numpy", "descr"; "bytes", the element in hexadecimal.
"""
import base64, json, os, random, warnings
from decimal import Decimal
from fractions import Fraction
import numpy as np
import zarr
from numpy.lib import format as npformat

warnings.simplefilter("ignore")
np.seterr(all="ignore")
random.seed(1)
HERE = os.path.dirname(os.path.abspath(__file__))
lines = []


def listed(descr):
    """a descr as JSON has it"""
    if isinstance(descr, str):
        return descr
    return [[n, listed(d)] + [list(x) for x in s] for n, d, *s in descr]


def tupled(dtype):
    if isinstance(dtype, str):
        return dtype
    return [(n, tupled(d)) + tuple(tuple(x) for x in s) for n, d, *s in dtype]


def emit(fmt, typ, fill, dtype, value, order="<"):
    descr = npformat.dtype_to_descr(dtype)
    spelled = listed(descr)
    if not isinstance(spelled, str):
        spelled = json.dumps(spelled, separators=(",", ":"), ensure_ascii=False)
    lines.append({"format": fmt, "type": typ, "fill": fill, "order": order, "size": dtype.itemsize,
                  "numpy": spelled, "descr": repr(descr), "bytes": np.array(value, dtype=dtype).tobytes().hex()})


def as_peers_read(text, kind):
    """the number of a float kind that readers of Zarr take a decimal for: a double first, then rounded again"""
    return np.dtype(kind).type(float(text))


def decimals(kind, n):
    """decimals at, just below and just above the middle of two numbers, and anywhere"""
    kind = kind.replace(">", "<")
    u = np.dtype("u%d" % np.dtype(kind).itemsize)
    top = int(np.array(np.finfo(kind).max).view(u))
    for _ in range(n):
        a = random.randrange(top)
        x, y = (Fraction(float(np.array(i, u).view(kind))) for i in (a, a + 1))
        middle = exact_decimal((x + y) / 2)
        m, e = middle.split("e")
        yield middle
        yield m + ".0000000000000000000000001e" + e
        yield "-" + str(int(m) * 10**25 - 1) + "e" + str(int(e) - 25)
        yield repr(float(x))


def exact_decimal(x):
    """a dyadic fraction as digits and exponent, exactly"""
    places = x.denominator.bit_length() - 1
    return "%de-%d" % (x.numerator * 5**places, places)


NUMBERS = {
    "b": [True, False],
    "i": [0, 1, -1, "min", "max"],
    "u": [0, 1, "min", "max"],
    "f": [0.0, -0.0, 1.5, -2.25, 1e-7, 65504.0, float("nan"), float("inf"), float("-inf")],
    "c": [0, 1 + 2j, complex(-0.5, 1e3), complex(float("nan"), 1), complex(1, float("-inf"))],
    "M": [0, 1, -(2**63), 2**62],
    "m": [0, 1, -(2**63), -5],
}
SCALARS = ["|b1", "|i1", "|u1"] + [o + t for o in "<>" for t in
           "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16 M8[ns] M8[10us] M8[D] M8[7Y] m8[as] m8[h] m8[25s]".split()]
TEXTS = {"|S1": [b"", b"a"], "|S5": [b"abc", b"\xff\x00x", b"abcde"], "|V1": [b"\x07"], "|V7": [b"1234567"],
         "<U1": ["", "é"], ">U3": ["", "a", "日本\U0001f600", '"\\'], "<U4": ["0", "NaN"]}
STRUCTS = [
    [("a", "<i4")],
    [("a", "<i2"), ("b", "|u1"), ("c", "|S1")],
    [("r", ">f4"), ("nested", [("x", "<u2"), ("deeper", [("y", "|b1"), ("z", ">c8")])]), ("s", "<U2")],
    [("x", "<f4", (2, 2)), ("y", "|S3", (1,)), ("p", [("q", ">i2")], (3,))],
    [("it's", "<i4"), ('say "no"', "|u1"), ("b'\"", "|u1"), ("tab\t\n\\", "|u1"), ("é日\u200b\U0001f600\x7f\x85", "<M8[us]")],
    [("t", "<M8[10us]"), ("v", "|V3"), ("", "|V2"), ("w", ">m8[s]")],
]


def values(dtype):
    limits = {"min": lambda: np.iinfo(dtype).min, "max": lambda: np.iinfo(dtype).max}
    for v in NUMBERS[dtype.kind]:
        v = limits[v]() if isinstance(v, str) else v
        yield np.array(v, "i8").astype(dtype) if dtype.kind in "Mm" else np.array(v, dtype=dtype)


def random_struct(dtype):
    raw = bytes(random.randrange(1, 100) for _ in range(dtype.itemsize))
    array = np.frombuffer(raw, dtype=dtype).copy()
    clean(array)
    return array[0]


def clean(array):
    for name in array.dtype.names:
        if array.dtype[name].names:
            clean(array[name])
        elif array.dtype[name].kind == "b":
            array[name] = True
        elif array.dtype[name].kind == "U":
            array[name] = "é"


def write_v2():
    from zarr.meta import Metadata2

    def case(typ, value=None, text=None, dtype=None):
        """value as zarr encodes it; or a text, and what zarr reads it as"""
        dtype = dtype or Metadata2.decode_dtype(typ)
        if text is None:
            fill = Metadata2.encode_fill_value(value if dtype.kind in "VM" else value[()], dtype)
            text = json.dumps(fill.item() if isinstance(fill, np.generic) else fill)
        elif value is None:
            value = Metadata2.decode_fill_value(json.loads(text), dtype)
        emit(2, typ, text, dtype, value)

    for typ in SCALARS:
        dtype = np.dtype(typ)
        for value in values(dtype):
            if dtype.kind == "M" or dtype.kind == "m":
                case(typ, value, str(int(value.view("i8" if dtype.isnative else ">i8"))))
            else:
                case(typ, value)
        for text in ["0", "null", '""']:
            case(typ, np.zeros((), dtype), text)
    for typ, texts in TEXTS.items():
        for value in texts:
            case(typ, np.array(value, dtype=typ))
        for text in ["0", "null", '""']:
            case(typ, np.zeros((), typ), text)
    for struct in STRUCTS:
        dtype = np.dtype(struct)
        padded = [d for d in dtype.descr]
        for i in range(2):
            v = random_struct(dtype)
            lines.append({"format": 2, "type": listed(struct), "fill": json.dumps(base64.b64encode(v.tobytes()).decode()),
                          "order": "<", "size": dtype.itemsize, "bytes": v.tobytes().hex(),
                          "numpy": json.dumps(listed(struct), separators=(",", ":"), ensure_ascii=False),
                          "descr": repr(struct)})
            if ("", "|V2") not in struct:  # zarr renames padding, we keep it
                case(listed(struct), v)
        for text in ["0", "null", '""']:
            lines.append(dict(lines[-1], fill=text, bytes="00" * dtype.itemsize))

    # spellings that NumPy takes for the same
    for typ, text in [("<u1", "7"), (">i1", "-7"), ("<b1", "true"), (">b1", "true"), ("<S2", '"YWI="'), (">V2", '"YWI="'), ("=f4", "1.5"),
                      ("f4", "1.5"), ("|f4", "1.5"), ("|i8", "3"), ("float32", "1.5"), ("int64", "-3"), ("bool", "true"), ("complex64", "[1, 2]"),
                      ("<M8[1s]", "5"), ("<M8[\u03bcs]", "5"), ("|U2", '"ab"'), ("<M8[s]", '"NaT"'), (">m8[s]", '"NaT"')]:
        case(typ, text=text)
    for typ in ["<M8", ">m8"]:
        case(typ, np.array(5, typ[0] + "i8").view(typ), "5")
    case([["a", "<i2"], ["b", "|u1", 2]], random_struct(np.dtype([("a", "<i2"), ("b", "|u1", 2)])), None,
         np.dtype([("a", "<i2"), ("b", "|u1", (2,))]))
    # values that zarr reads leniently
    for typ, text in [("<f4", '"1.5"'), ("<f4", '" -1e3 "'), ("<f4", '"nan"'), ("<f8", '"inf"'), ("<f8", "true"), ("<f4", "NaN"), (">f8", "-Infinity"),
                      ("<f2", "Infinity"), ("<f8", '"-Infinity"'), ("<i4", '"3"'), ("<i4", "true"), ("<i4", "3.0"), ("<i4", "1e3"), ("|u1", '"255"'),
                      ("|b1", "1"), ("|b1", "0"), ("|S3", '"YWJjZGVm"'), ("|S3", '"abc"'), ("<U2", '"abc"'), ("|V2", '"YQ=="'), ("|V2", '"YWJj"'),
                      ("<c8", '[1, "2"]'), (">c16", '["Infinity", 2]'), ("<f8", "1e400"), ("<f4", "1e39"), ("<f4", "-1e-60"), ("<f8", "1" + "0" * 30),
                      ("<u8", "18446744073709551615"), ("<i8", "-9223372036854775808"), ("<i8", "9007199254740993"), ("<u8", "18446744073709551615.0")][:-1]:
        case(typ, text=text)
    for typ in ["<f16", ">f16"]:
        for x in [0.0, -0.0, 1.5, -2.25, 1e-310, 1.7e308, 0.1, float("inf"), float("-inf"), float("nan")]:
            case(typ, np.array(x, typ), json.dumps(x))
            raw = bytearray.fromhex(lines[-1]["bytes"])  # the padding of long doubles is not defined: zero it
            raw[slice(10, 16) if typ == "<f16" else slice(0, 6)] = bytes(6)
            lines[-1]["bytes"] = raw.hex()
    for typ, n in [("<f2", 40), (">f4", 40), ("<f8", 8)]:
        for text in decimals(typ, n):
            case(typ, as_peers_read(text, np.dtype(typ).newbyteorder("=").str).astype(typ), text)


def write_v3():
    import ml_dtypes
    from zarr.dtype import parse_data_type

    def v3(dtype):
        zd = parse_data_type(dtype, zarr_format=3)
        return zd, zd.to_json(zarr_format=3)

    for typ in SCALARS + list(TEXTS):
        dtype = np.dtype(typ)
        zd, name = v3(dtype)
        if isinstance(name, str):
            emit(3, {"name": name}, "null", dtype, np.zeros((), dtype), typ[0])
        for value in [np.array(v, dtype) for v in TEXTS[typ]] if typ in TEXTS else values(dtype):
            scalar = zd.cast_scalar(value[()]) if dtype.kind not in "Mm" else value[()]
            fill = zd.to_json_scalar(scalar, zarr_format=3)
            emit(3, name, json.dumps(fill), dtype, value, typ[0])
    # bit patterns
    for kind in ["f2", "f4", "f8"]:
        for o in "<>":
            u = np.dtype(o + "u" + kind[1:])
            n = int(kind[1:])
            for bits in [0, 1, 2 ** (8 * n) - 1, 2 ** (8 * n - 1), random.getrandbits(8 * n)]:
                emit(3, "float%d" % (8 * n), '"0x%0*x"' % (2 * n, bits), np.dtype(o + kind), np.array(bits, u).view(o + kind), o)
    emit(3, "complex64", '["0x7fc00001", "-Infinity"]', np.dtype(">c8"),
         np.frombuffer(bytes.fromhex("7fc00001ff800000"), ">c8")[0], ">")
    # as zarr 3 reads them
    for name, text, dtype in [("float32", '"1.5"', "<f4"), ("int8", '"5"', "|i1"), ("int8", "5.0", "|i1"), ("bool", "1", "|b1"),
                              ("float16", "1e9", "<f2"), ("float32", "1e39", "<f4"), ("float64", "NaN", "<f8"), ("uint64", "18446744073709551615", "<u8")]:
        zd = parse_data_type(name, zarr_format=3)
        emit(3, name, text, np.dtype(dtype), zd.from_json_scalar(json.loads(text), zarr_format=3))
    # r<bits>, which zarr 3 does not know
    emit(3, "r8", "[7]", np.dtype("V1"), np.void(b"\7"))
    emit(3, "r24", "[1, 2, 255]", np.dtype("V3"), np.void(b"\1\2\xff"))
    emit(3, "r24", '"AQL/"', np.dtype("V3"), np.void(b"\1\2\xff"))
    # structs: "structured" as zarr 3 writes it, "struct" as its specification says
    for struct in STRUCTS[:3] + STRUCTS[4:5]:
        for o in "<>":
            dtype = np.dtype(struct).newbyteorder(o)
            if dtype.isbuiltin or len(dtype.names) != len(set(dtype.names)):
                continue
            zd, name = v3(dtype)
            value = random_struct(dtype)
            emit(3, name, json.dumps(base64.b64encode(value.tobytes()).decode()), dtype, value, o)
            emit(3, bare(name), json.dumps(base64.b64encode(value.tobytes()).decode()), dtype, value, o)
            emit(3, spec_struct(name), json.dumps(spec_fill(zd, value)), dtype, value, o)
            emit(3, spec_struct(name), "0", dtype, np.zeros((), dtype), o)
    extensions(ml_dtypes)


def bare(t):
    if isinstance(t, dict) and t["name"] in ("struct", "structured"):
        return [[n, bare(d)] for n, d in t["configuration"]["fields"]]
    return t


def spec_struct(t):
    if isinstance(t, dict) and t["name"] == "structured":
        return {"name": "struct", "configuration": {"fields": [{"name": n, "data_type": spec_struct(d)} for n, d in t["configuration"]["fields"]]}}
    return t


def spec_fill(zd, value):
    if hasattr(zd, "fields"):
        return {n: spec_fill(d, value[n]) for n, d in zd.fields}
    return zd.to_json_scalar(zd.cast_scalar(value), zarr_format=3)


def extensions(ml_dtypes):
    """ml_dtypes' types; NumPy's str and descr of them are those of opaque bytes"""
    def line(name, text, raw, descr, order="<"):
        lines.append({"format": 3, "type": name, "fill": text, "order": order, "size": len(raw), "numpy": name,
                      "descr": repr(descr), "bytes": raw.hex()})

    names = ["bfloat16"] + ["float8_" + n for n in "e3m4 e4m3 e4m3fn e4m3b11fnuz e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split()] + \
        ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name))
        numbers = [0.0, -0.0, 1.0, -1.0, 3.0, 1.5, 1e-30, 5e-3, -7e-3, 0.07, 30.0, 100.0, 464.0, 465.0, -464.0, 1e4, 1e9, -1e9, 1e38, 3.4e38, 2.0**-127, 2.0**-133]
        numbers += [random.gauss(0, 1) * 2.0 ** random.randrange(-12, 12) for _ in range(12)]
        if name == "float8_e8m0fnu":
            numbers = [abs(x) for x in numbers if x != 0]
        else:  # the middles of neighbours
            codes = np.arange(1 << min(8 * dtype.itemsize, 16)).astype("u%d" % dtype.itemsize).view(dtype).astype("f8")
            finite = np.unique(codes[np.isfinite(codes)])
            middles = (finite[1:] + finite[:-1]) / 2
            numbers += list(middles if len(middles) < 80 else random.sample(list(middles), 40))
        for x in numbers:
            raw = np.array(x, "f8").astype(dtype).tobytes()
            descr = dtype.str if name != "float8_e5m2" else "<V1"  # ml_dtypes' '<f1' is no type NumPy could load
            line(name, str(Decimal(float(x))), raw, descr)  # exact: repr would not be in the middle
        for text in ["NaN", "Infinity", "-Infinity"]:
            inf = name in ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2")
            if name.startswith(("float4", "float6")) or text != "NaN" and not inf:
                continue
            raw = np.array(float(text), "f8").astype(dtype).tobytes()
            if text == "NaN":  # ml_dtypes sets the sign of some
                raw = {"bfloat16": b"\xc0\x7f"}.get(name, raw)
            line(name, json.dumps(text), raw, descr)
        bits = "%0*x" % (2 * dtype.itemsize, 0x35)
        line(name, '"0x%s"' % bits, bytes.fromhex(bits)[::-1], descr)
        pair = np.array([1.5, 2.0], dtype)
        line("complex_" + name, "[1.5, 2.0]", pair.tobytes(), "<V%d" % pair.nbytes)
    line("bfloat16", "1.5", bytes.fromhex("3fc0"), ">V2", ">")
    line("complex_float16", "[1.5, -2]", np.array([1.5, -2], "<f2").tobytes(), "<V4")
    line("complex_float16", "[1.5, -2]", np.array([1.5, -2], ">f2").tobytes(), ">V4", ">")
    for name, low, high in [("int2", -2, 1), ("int4", -8, 7), ("uint2", 0, 3), ("uint4", 0, 15)]:
        for x in range(low, high + 1):  # stored sign-extended
            line(name, str(x), np.array(x).astype("i1").tobytes(), "|u1" if low == 0 else "|i1")


if zarr.__version__.startswith("2."):
    write_v2()
    out = "v2.json"
else:
    write_v3()
    out = "v3.json"
with open(os.path.join(HERE, out), "w", encoding="utf8") as f:
    f.write("[\n" + ",\n".join(json.dumps(x) for x in lines) + "\n]\n")
print(out, len(lines))
