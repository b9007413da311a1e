"""Keeps account of what a generator wrote: one manifest and expected copies for each store.

OUT/stores/NAME        the store, as its writing library left it
OUT/expected/NAME/…    what each of its arrays must read as, as np.save writes it, or lines of JSON
OUT/manifests/NAME.json  the arrays, and what could not be written, with the reason
"""

import json
import os
import re
import shutil
import traceback

import numpy as np

import cases_vlen


class Book:
    """One store under construction."""

    def __init__(self, out, name):
        self.out, self.name = out, name
        self.store = os.path.join(out, "stores", name)
        self.expected = os.path.join(out, "expected", name)
        self.arrays, self.skipped, self.doubts = [], [], []
        for folder in (self.store, self.expected):
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(self.store), exist_ok=True)
        os.makedirs(self.expected)

    def add(self, path, expected, view=None, descr=None):
        """An array at path of the store must read as expected; view is its name in the mount,
        without suffix.

        descr is what its .npy header says where NumPy has no such type.
        """
        file = f"{len(self.arrays):04d}.npy"
        save(os.path.join(self.expected, file), np.array(expected, order="C"), descr)
        self.arrays.append({"path": path, "view": shown(path) if view is None else view,
            "expected": file})

    def add_lines(self, path, expected, view=None, of_bytes=False):
        """An array at path, of elements without a fixed size, must read as expected: objects in C
        order.
        """
        file = f"{len(self.arrays):04d}.jsonl"
        with open(os.path.join(self.expected, file), "w", encoding="utf-8", newline="\n") as f:
            f.writelines(cases_vlen.line(v) + "\n" for v in expected.ravel().tolist())
        strings = cases_vlen.fixed(expected, of_bytes)
        if strings is not None:
            np.save(os.path.join(self.expected, file + ".npy"), strings)
        self.arrays.append({"path": path, "view": shown(path) if view is None else view,
            "expected": file})

    def oracle(self, path, read, want):
        """Note where the writing library itself does not read back what was written."""
        try:
            found = np.asarray(read())
        except Exception as err:  # the library may raise anything
            self.doubts.append({"path": path, "reason": f"{type(err).__name__}: {err}"[:300]})
            return
        if found.shape != want.shape:
            self.doubts.append({"path": path, "reason": f"the library reads shape {found.shape}"})
        elif found.astype(want.dtype).tobytes() != np.asarray(want).tobytes():
            self.doubts.append({"path": path, "reason": "the library reads other values"})

    def skip(self, what, reason):
        """Something this writer cannot write, or cannot write rightly."""
        self.skipped.append({"what": what, "reason": str(reason)[:300]})

    def attempt(self, what, write):
        """Call write(); if the library refuses, that is listed and what it left is removed."""
        before = len(self.arrays)
        try:
            write()
        except Exception as err:  # the library may raise anything
            if os.environ.get("ZARRFS_TRACE"):
                traceback.print_exc()
            del self.arrays[before:]
            shutil.rmtree(os.path.join(self.store, what), ignore_errors=True)
            self.skip(what, f"{type(err).__name__}: {err}")

    def close(self):
        folder = os.path.join(self.out, "manifests")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, self.name + ".json"), "w") as f:
            json.dump({"store": self.name, "arrays": self.arrays, "skipped": self.skipped,
                "doubts": self.doubts}, f, indent=1)
        doubts = f", {len(self.doubts)} that the library reads otherwise" if self.doubts else ""
        print(f"{self.name}: {len(self.arrays)} arrays, {len(self.skipped)} not written{doubts}",
            flush=True)


def shown(path):
    """A path as the mount spells it: control characters, and % where it could be read as an escape,
    are %XX.
    """
    path = re.sub(r"%(?=[0-9A-Fa-f]{2}|[._~/]|$)", "%25", path)
    return "".join(f"%{ord(c):02X}" if ord(c) < 32 or ord(c) == 127 else c for c in path)


def save(path, array, descr):
    """np.save, with another descr in the header if one is given."""
    if not descr:
        return np.save(path, array, allow_pickle=False)
    with open(path, "wb") as f:
        header = {"descr": descr, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(f, header)
        f.write(array.tobytes())
