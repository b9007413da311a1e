"""Read and write arrays with zarrita, which node runs beside this Python; see zarrita/zarrita.mjs
and venvs.sh.
"""

import json
import os
import subprocess
import sys

import numpy as np

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "zarrita", "zarrita.mjs")


def installed():
    return os.path.exists(SCRIPT)


def run(what, store, path, *options, input=None):
    done = subprocess.run(["node", SCRIPT, what, os.path.abspath(store), "/" + path, *options],
        input=input, capture_output=True, timeout=60)
    if done.returncode:
        lines = [line for line in done.stderr.decode().split("\n") if "Error" in line]
        raise RuntimeError(lines[0].strip() if lines else f"exit status {done.returncode}")
    return done.stdout


def read(store, path):
    """The shape, the strides in elements, and the bytes of an array."""
    header, _, data = run("read", store, path).partition(b"\n")
    header = json.loads(header)
    return header["shape"], header["stride"], data


def strided(shape, stride, data, dtype):
    """What read returned, as an array of a dtype in the machine's byte order, which is zarrita's.
    """
    flat = np.frombuffer(data, dtype.newbyteorder("="))
    return np.lib.stride_tricks.as_strided(flat, shape, [n * flat.itemsize for n in stride])


def write(store, path, options, data):
    """Create an array by zarrita's options and write data to it, whose bytes are in the order of
    the array's chunks.
    """
    run("write", store, path, json.dumps(options), input=data.tobytes("A"))
