"""Reads files with random headers by the programs that people use: N.nrrd and so on in a folder.

N.json says of each what it is, and N.raw has its values. It exits with 1 if any is different.
"""

import json
import os
import sys

import numpy as np

import view_readers


class Array(np.ndarray):
    """Values with the attributes that an array of zarr has."""

    attrs = type("Attributes", (dict,), {"asdict": dict})()


def steps_differ(view, package, found, said):
    """Compares what is found of the axes; the other readers do not say what is unknown."""
    if (view, package) not in (("nrrd", "pynrrd"), ("fits", "astropy")):
        return ""
    if view == "fits" and not all(a in ("", b) for a, b in zip(found.names, said["names"])):
        return f"names are {found.names}, expected {said['names']}"
    steps = found.steps[: len(said["steps"])]
    if not all(view_readers.isclose(a, b) for a, b in zip(steps, said["steps"])):
        return f"steps are {steps}, expected {said['steps']}"
    return ""


def main():
    folder = sys.argv[1]
    seen = wrong = 0
    for name in sorted(os.listdir(folder)):
        number, view = name.split(".", 1)
        if view in ("json", "raw"):
            continue
        said = json.load(open(f"{folder}/{number}.json"))
        array = (
            np.fromfile(f"{folder}/{number}.raw", said["dtype"]).reshape(said["shape"]).view(Array)
        )
        for package, open_file in view_readers.READERS[view]:
            if package not in ("pynrrd", "simpleitk", "nibabel", "mrcfile", "astropy", "tifffile"):
                continue  # they have rules for single arrays of the stores, or start programs
            if package == "simpleitk" and view == "nrrd" and said["channels"]:
                continue  # it makes channels the last axis, and cannot have two of them
            try:
                found = open_file(f"{folder}/{name}", array)
                if found is None:
                    continue
                values = np.asarray(found.values).reshape(array.shape)
                why = view_readers.values_differ(values, array) or steps_differ(
                    view, package, found, said
                )
            except Exception as e:
                why = f"{type(e).__name__}: {e}"
            seen += 1
            if why:
                wrong += 1
                print(f"{package}: {name}: {why}: {json.dumps(said)}", file=sys.stderr)
    print(f"{seen} readings, {wrong} different")
    sys.exit(wrong > 0 or seen == 0)


if __name__ == "__main__":
    main()
