"""Sample data of elements that have no fixed size, and what they must read as."""

import base64
import json

import numpy as np

from cases import seed_of

WORDS = ["", "a", "grün", "名前 😀", 'quote " and \\', "two\nlines\t", "\x01\x7f", "long " * 40,
    "plain", "e\u0301"]
VALUES = ["text", "", 1, -2.5, None, True, [1, ["x"]], {"b": {"c": "ü"}, "a": 1}]


def objects(flat, shape):
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(shape)


def sample(kind, shape, seed="x"):
    """Random elements: text, bytes, json, or lists of a data type."""
    n = int(np.prod(shape, dtype="i8"))
    rng = np.random.default_rng(seed_of(f"{kind}{shape}{seed}"))
    if kind == "text":
        flat = [WORDS[i] for i in rng.integers(0, len(WORDS), n)]
    elif kind == "bytes":
        flat = [rng.bytes(k) for k in rng.integers(0, 20, n)]
    elif kind == "json":
        flat = [VALUES[i] for i in rng.integers(0, len(VALUES), n)]
    else:
        flat = [_numbers(kind, k, rng) for k in rng.integers(0, 5, n)]
    return objects(flat, shape)


def _numbers(dtype, n, rng):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.round(rng.standard_normal(n) * 100, 3).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype.newbyteorder("="), endpoint=True).astype(
        dtype)


def line(value):
    """An element's line in the .jsonl view, without its end."""
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode()
    if isinstance(value, np.ndarray):
        # as few digits as the type needs
        value = [float(str(v)) for v in value] if value.dtype.kind == "f" else value.tolist()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fixed(data, of_bytes=False):
    """The array as NumPy's strings of one width, or byte strings; None if there are other elements
    among them.
    """
    kind, letter = (bytes, "S") if of_bytes else (str, "U")
    flat = data.ravel().tolist()
    if not all(isinstance(v, kind) for v in flat):
        return None
    width = max((len(v) for v in flat), default=0)
    return np.array(flat, f"{letter}{max(width, 1)}").reshape(data.shape)
