"""What programs without Python read of .h5 and .nc files, compared with what zarr-python reads.

group_tools.py STORE BASE TOOL.SUFFIX...    prints what group_files.py prints

The files are BASE.SUFFIX. A tool copies the file to one of its own, which is read by h5py or
netCDF4. Or it writes what it reads to a folder: a file "list" and the elements of the n-th array of
the list in file n. Lines of the list are separated by tabs: "array PATH TYPE LENGTH...", the
fastest axis first, "names PATH NAME..." of its axes in the same order, and "text PATH NAME VALUE"
and "numbers PATH NAME VALUE..." for attributes. Those of the root have the path "/".
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import zarr

import group_files

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*words, **more):
    """Runs a program and returns what it prints."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, timeout=120, **more).stdout


class Copied:
    """A program that copies the file. Its copy is compared as the file is."""

    def __init__(self, file, to):
        self.copy(file, to)
        self.reader = self.read(to + "/copy")
        self.reader.narrow = file.endswith(".nc")

    def compare(self, store, different):
        group = zarr.open_group(store, mode="r")
        return group_files.compare(self.reader, group, self.reader.root, different)


class Ncdump(Copied):
    """ncdump's text, of which ncgen makes a file."""

    read = group_files.NetCDF4

    def copy(self, file, to):
        text = run("ncdump", "-p", "9,17", file)
        run("ncgen", "-k", "nc4", "-o", to + "/copy", "-", input=text)


class Nccopy(Copied):
    read = group_files.NetCDF4

    def copy(self, file, to):
        run("nccopy", file, to + "/copy")


class Nco(Copied):
    read = group_files.NetCDF4

    def copy(self, file, to):
        run("ncks", "-O", "-h", file, to + "/copy")  # without a line of history


class H5repack(Copied):
    read = group_files.H5py

    def copy(self, file, to):
        run("h5repack", file, to + "/copy")


class Tool:
    """A program that says which values and attributes the arrays of the file have, by path."""

    names, attributes, groups = {}, {}, {}  # of axes; of arrays; attributes of groups

    def lacks(self, a):
        """Whether the program is known not to read arrays like a."""
        return False

    def found(self, a):
        return self.values[a.path]

    def wanted(self, a):
        """What the program should find for a."""
        return group_files.as_file(np.asarray(a[...]))

    def compare(self, store, different):
        count = 0
        for path, a in sorted(zarr.open_group(store, mode="r").members(max_depth=None)):
            if isinstance(a, zarr.Group) or self.lacks(a):
                continue
            count += 1
            try:
                found, wanted = self.found(a), self.wanted(a)
            except Exception as err:
                different.append(f"{path}: {err!r}")
                continue
            if found.shape != wanted.shape or not group_files.same(found, wanted):
                different.append(f"{path}: {found!r}, expected {wanted!r}"[:600])
            self.compare_attributes(a, different)
            names = self.names.get(a.path)
            if why := group_files.dimensions_differ(names, self.attributes.get(a.path, {}), a):
                different.append(f"{path}: {why}")
        self.compare_groups(zarr.open_group(store, mode="r"), different)
        return count

    def compare_groups(self, root, different):
        """Compares the attributes of the groups that the program has found."""
        for path, found in self.groups.items():
            for key, value in (root[path] if path else root).attrs.asdict().items():
                if value == []:
                    continue  # GDAL 3.6 finds another value each time
                got = found.get(key, "missing")
                if group_files.attribute_differs(got, value):
                    different.append(
                        f"{path}/: attribute {key}: {got!r}, expected {value!r}"[:300]
                    )

    def compare_attributes(self, a, different):
        for key, value in a.attrs.asdict().items():
            if key in ("_ARRAY_DIMENSIONS", "_FillValue", "coordinates"):
                continue
            found = self.attributes[a.path].get(key, "missing")
            if group_files.attribute_differs(found, value):
                different.append(f"{a.path}: attribute {key}: {found!r}, expected {value!r}"[:300])


class H5dump(Tool):
    """The elements as h5dump writes them, and the shapes that h5ls lists.

    It writes only numbers of types that C has. h5repack copies the others, and attributes.
    """

    def __init__(self, file, to):
        self.file, self.to = file, to
        lines = run("h5ls", "-r", "-S", file).decode()
        self.shapes = dict(re.findall(r"^/(.*?) +Dataset \{(.*)\}$", lines, re.MULTILINE))

    def found(self, a):
        text = self.shapes[a.path]
        shape = () if text == "SCALAR" else tuple(map(int, text.split(", ")))
        dtype = self.wanted(a).dtype.newbyteorder("<")
        if 0 in shape:
            return np.zeros(shape, dtype)
        run("h5dump", "-d", "/" + a.path, "-b", "LE", "-o", self.to + "/raw", self.file)
        return np.fromfile(self.to + "/raw", dtype).reshape(shape)

    def lacks(self, a):
        return a.dtype.kind not in "iufmM" or a.dtype.str[1:] == "f2"

    def compare_attributes(self, a, different):
        pass


class Gdal(Tool):
    """The groups and arrays that GDAL finds, with their values as text."""

    def __init__(self, file, to):
        self.values, self.attributes, self.names, self.groups = {}, {}, {}, {}
        self.has_names = file.endswith(".nc")
        self.add("", json.loads(run("gdalmdiminfo", "-detailed", file)))

    def add(self, prefix, group):
        attributes = group.get("attributes", {})
        self.groups[prefix.rstrip("/")] = {key: v["value"] for key, v in attributes.items()}
        for name, a in group.get("arrays", {}).items():
            path, attributes = prefix + name, a.get("attributes", {})
            self.values[path] = a["values"]
            self.attributes[path] = {key: v["value"] for key, v in attributes.items()}
            if self.has_names:
                self.names[path] = [d.rsplit("/")[-1] for d in a.get("dimensions", [])]
            for key in ("unit", "scale", "offset"):
                if key in a:
                    self.attributes[path].setdefault(
                        {"unit": "units", "scale": "scale_factor", "offset": "add_offset"}[key],
                        a[key]["value"] if isinstance(a[key], dict) else a[key],
                    )
        for name, sub in group.get("groups", {}).items():
            self.add(f"{prefix}{name}/", sub)

    def found(self, a):
        wanted = self.wanted(a)
        if wanted.dtype.kind == "S":
            found = self.values[a.path]
            if wanted.shape == () and isinstance(found, list):  # characters of one text
                return np.array(bytes(found).rstrip(b"\0"))
            texts = [v.encode() for v in np.ravel(np.array(found, object))]
            return np.array(texts, "S").reshape(wanted.shape)
        if wanted.dtype.kind == "c":
            return np.vectorize(lambda v: complex(v["real"], v["imag"]))(self.values[a.path])
        if wanted.dtype.names:
            rows = [tuple(v[n] for n in wanted.dtype.names) for v in self.values[a.path]]
            return np.array(rows, wanted.dtype)
        values = np.array(self.values[a.path], object)
        return np.reshape(values.astype(wanted.dtype.newbyteorder("=")), wanted.shape)


class Dumped(Tool):
    """A program that writes what it reads to a folder."""

    def __init__(self, file, to):
        self.values, self.attributes, self.names, self.groups, count = {}, {}, {}, {}, 0
        self.dump(file, to)
        for line in open(to + "/list", encoding="utf-8"):
            kind, path, *rest = line.removesuffix("\n").removesuffix("\t").split("\t")
            is_root, path = path == "/", path.lstrip("/")
            of = self.groups.setdefault("", {}) if is_root else self.attributes.get(path)
            if kind == "text":
                of[rest[0]] = rest[1] if len(rest) == 2 else rest[1:]
            elif kind == "numbers":
                numbers = [float(n.replace("NA", "nan")) for n in rest[1:]]
                of[rest[0]] = numbers[0] if len(numbers) == 1 else numbers
            elif kind == "names":
                self.names[path] = rest[::-1]
            else:
                count += 1
                self.attributes[path] = {}
                shape = tuple(int(n) for n in rest[1:])[::-1]
                values = self.elements(f"{to}/{count}", rest[0], shape)
                if values.dtype.kind == "f":  # R's NA, and NaN of Octave, have bits of their own
                    values = np.where(np.isnan(values), np.nan, values)
                self.values[path] = values

    def elements(self, file, kind, shape):
        raw = open(file, "rb").read()
        if kind == "text":
            return np.array(raw.split(b"\n")[:-1], "S").reshape(shape)
        if kind == "chars":
            return np.frombuffer(raw, "S1").reshape(shape)
        dtype = {"double": "<f8", "single": "<f4", "float64": "<f8"}.get(kind)
        return np.frombuffer(raw, dtype or kind).reshape(shape)


class InR(Dumped):
    """R has numbers of 64 bits as float64, and takes -2^31 for a missing integer."""

    def wanted(self, a):
        wanted = super().wanted(a)
        if wanted.dtype.kind not in "iufb":
            return wanted
        return np.where(wanted == -(2.0**31), np.nan, wanted.astype("<f8"))

    def found(self, a):
        found = super().found(a)
        return found.reshape(a.shape)

    def dump(self, file, to):
        run("Rscript", HERE + "/dump_h5.R", file, to, self.library, stderr=subprocess.DEVNULL)


class Ncdf4(InR):
    library = "ncdf4"


class Rhdf5(InR):
    library = "rhdf5"


class Octave(Dumped):
    """Octave's load -hdf5, which reads no attributes, and no booleans."""

    def dump(self, file, to):
        words = "octave-cli", "--norc", "-q", HERE + "/dump_h5.m", file, to
        run(*words, *self.how, stderr=subprocess.DEVNULL)

    how = ["load"]

    def lacks(self, a):
        return a.dtype.kind == "b"

    def found(self, a):
        path = re.sub(r"^(?=\d)", "_", a.path)  # a name of Octave
        found = self.values[path]
        if found.dtype.kind == "S":
            return np.array([b"".join(row).rstrip() for row in found.T])
        return found.reshape(a.shape)

    def wanted(self, a):
        wanted = super().wanted(a)
        return wanted.astype("<f8") if wanted.dtype.kind == "f" else wanted

    def compare_attributes(self, a, different):
        pass


class Ncread(Octave):
    """ncread of Octave's package netcdf, which unpacks numbers."""

    how = ["ncread", "t2m", "tp", "mask", "cov", "crs", "lag", "latitude", "longitude", "time"]
    how += ["/forecast/wind", "/forecast/level"]

    def lacks(self, a):
        return "/" + a.path not in self.how and a.path not in self.how

    def wanted(self, a):
        wanted = group_files.as_file(np.asarray(a[...]))
        if "scale_factor" in a.attrs:
            wanted = wanted * a.attrs["scale_factor"] + a.attrs["add_offset"]
        return wanted.astype("<f8")

    def found(self, a):
        return super().found(a).astype("<f8")


class Cdo(Tool):
    """CDO's copy of the arrays that are not texts, in the root."""

    arrays = ["t2m", "tp", "mask", "cov", "crs", "lag", "latitude", "longitude", "time"]

    def __init__(self, file, to):
        run("cdo", "-s", "-f", "nc4", "copy", file, to + "/copy", stderr=subprocess.DEVNULL)
        self.reader = group_files.NetCDF4(to + "/copy")

    def lacks(self, a):
        return a.path not in self.arrays

    def found(self, a):
        name = {"longitude": "longitude_2"}.get(a.path, a.path)  # the first one is of cov
        self.copied = self.reader.root[name]
        root = self.reader.attrs(self.reader.root)
        root["history"] = root["history"].split("\n", 1)[-1]  # CDO has added a line
        self.groups = {"": root}
        return np.asarray(self.copied[...]).astype("<f8").reshape(a.shape)

    def wanted(self, a):
        return super().wanted(a).astype("<f8")

    def compare_attributes(self, a, different):
        for key in ("units", "long_name", "scale_factor", "add_offset"):
            wanted = a.attrs.get(key)
            if wanted is not None and self.reader.attrs(self.copied).get(key) != wanted:
                different.append(f"{a.path}: attribute {key}: expected {wanted!r}")


TOOLS = {
    "ncdump": Ncdump,
    "nccopy": Nccopy,
    "ncks": Nco,
    "cdo": Cdo,
    "h5repack": H5repack,
    "h5dump": H5dump,
    "gdal": Gdal,
    "ncdf4": Ncdf4,
    "rhdf5": Rhdf5,
    "octave": Octave,
    "ncread": Ncread,
}


def main():
    store, base, *jobs = sys.argv[1:]
    answer = {}
    for job in jobs:
        tool, suffix = job.split(".")
        different, count = [], 0
        with tempfile.TemporaryDirectory() as to:
            try:
                count = TOOLS[tool](f"{base}.{suffix}", to).compare(store, different)
            except Exception as err:
                different.append(repr(err))
        answer[job] = {"arrays": count, "different": different}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
