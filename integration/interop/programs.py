"""Read and write arrays with zarrs and zarr-java, whose programs run beside this Python; see
zarrs-crate, zarr-java and venvs.sh.

A request is a line of JSON: what ("read" or "write"), store, path, the document of an array to
write, and size, how many bytes of elements follow. So is the answer: shape and size, or error.
Elements are in C order and in the machine's byte order.
"""

import functools
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA = os.path.join(HERE, "zarr-java", "target")
COMMANDS = {
    "zarrs-crate": [os.path.join(HERE, "zarrs-crate", "target", "release", "zarrs-interop")],
    "zarr-java": ["java", "-cp", ":".join(os.path.join(JAVA, part)
        for part in ("classes", "lib/*", "../../image-readers/target/bioformats.jar")), "Interop"],
}


def installed(library):
    """Whether venvs.sh has built the program."""
    return os.path.exists(COMMANDS[library][0] if library == "zarrs-crate"
        else os.path.join(JAVA, "classes", "Interop.class"))


@functools.cache
def started(library):
    return subprocess.Popen(COMMANDS[library], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)


def ask(library, request, data=b""):
    program = started(library)
    program.stdin.write(json.dumps(dict(request, size=len(data))).encode() + b"\n" + data)
    program.stdin.flush()
    line = program.stdout.readline()
    if not line:
        started.cache_clear()
        raise RuntimeError(f"{library} has ended")
    header = json.loads(line)
    data = program.stdout.read(header["size"])
    if "error" in header:
        raise RuntimeError(header["error"])
    return header, data


def read(library, store, path):
    """The shape and the bytes of an array."""
    header, data = ask(library, {"what": "read", "store": os.path.abspath(store), "path": path})
    return header["shape"], data


def write(library, store, path, document, data):
    """Create an array by its document and write data to it."""
    request = {"what": "write", "store": os.path.abspath(store), "path": path, "document": document}
    ask(library, request, data.astype(data.dtype.newbyteorder("=")).tobytes())
