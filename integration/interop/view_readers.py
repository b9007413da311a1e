"""Opens the files of a view in a mount by the programs that people use, and compares with zarr.

view_readers.py STORES MOUNT VIEW compares all arrays of the stores that have such a file, and
prints how many there were. It exits with 1 if any is different.
"""

import atexit
import functools
import importlib.metadata
import os
import subprocess
import sys
import tempfile

import numpy as np
import zarr

# Expected of the axes of the second level of the image, of the cells, of the climate's height and
# of the image of the sky: each from the slowest axis to the fastest.
PLACES = {
    "image/1": {
        "names": list("tczyx"),
        "steps": [0.5, None, 2.0, 0.5, 0.5],
        "starts": [0, None, 10.0, 0.125, 0.125],
        "units": ["second", "", "micrometer", "micrometer", "micrometer"],
    },
    "micro/cells": {
        "names": list("zyx"),
        "steps": [2.0, 0.5, 0.25],
        "starts": [10.0, 0.125, 0.5],
        "units": ["micrometer"] * 3,
    },
    "climate/height": {
        "names": ["lat", "lon"],
        "steps": [-5.0, 2.0],
        "starts": [60.0, -10.0],
        "units": ["degrees_north", "degrees_east"],
    },
    "sky/flux": {
        "names": ["y", "x"],
        "steps": [0.25, -0.5],
        "starts": [-1.5, 3.0],
        "units": ["arcsec", "arcsec"],
    },
}


class Found:
    """What a reader has found: values, and what it says of the axes, the slowest first."""

    def __init__(self, values, steps=None, starts=None, names=None, units=None, more=None):
        self.values, self.steps, self.starts, self.names, self.units = (
            values,
            steps,
            starts,
            names,
            units,
        )
        self.more = more or {}


class Tally:
    """Counts what was compared, and what was different."""

    def __init__(self):
        self.seen = self.different = 0

    def note(self, what, compare):
        """Calls compare(), which returns what is different, and "" if nothing is."""
        self.seen += 1
        try:
            why = compare()
        except Exception as e:
            why = f"{type(e).__name__}: {e}"
        if why:
            self.different += 1
            print(f"{what}: {why}", file=sys.stderr)

    def end(self, of):
        """Prints the counts, and ends the program with 1 if anything was different."""
        print(f"{self.seen} {of}, {self.different} different")
        sys.exit(self.different > 0)


def isclose(a, b):
    if a is None or b is None:
        return a is b
    return np.isclose(float(a), float(b), rtol=1e-6, atol=0)


def place_differs(found, expected):
    """Compares what a reader says of the axes; what it does not say is None."""
    for what in "names", "steps", "starts", "units":
        said = getattr(found, what)
        if said is None:
            continue
        same = len(said) == len(expected[what]) and all(
            (a == b if isinstance(b, str) else isclose(a, b))
            for a, b in zip(said, expected[what])
            if a is not Ellipsis
        )
        if not same:
            return f"{what} are {said}, expected {expected[what]}"
    return ""


def values_differ(found, array):
    wanted = array[...]
    if wanted.dtype.kind == "b":
        wanted = wanted.astype("u1")
    got = np.asarray(found)
    if got.shape != wanted.shape:
        return f"shape {got.shape}, expected {wanted.shape}"
    if got.dtype.newbyteorder("=") != wanted.dtype.newbyteorder("="):
        return f"type {got.dtype}, expected {wanted.dtype}"
    if not np.array_equal(
        got.view("u1") if got.dtype.kind == "V" else got,
        wanted,
        equal_nan=wanted.dtype.kind in "fc",
    ):
        return "other values"
    return ""


def arrays(stores):
    """Yields store, path and array of all arrays."""
    for fmt in 2, 3:
        root = zarr.open_group(f"{stores}/s{fmt}.zarr", mode="r", zarr_format=fmt)
        for path, node in sorted(root.members(max_depth=None)):
            if isinstance(node, zarr.Array) and not path.startswith("large/"):
                yield f"s{fmt}.zarr", path, node


# Readers, by view: name of the package, and what opens a file. One returns None where the program
# does not read that type or rank.
READERS = {}


def reader(view, package):
    def add(open_file):
        READERS.setdefault(view, []).append((package, open_file))
        return open_file

    return add


def joined(values, is_complex):
    """Makes the last axis, of two, the two parts of complex numbers."""
    return (
        np.ascontiguousarray(values).view(f"{values.dtype.byteorder}c{values.itemsize * 2}")[..., 0]
        if is_complex
        else values
    )


@reader("nhdr", "pynrrd")
@reader("nrrd", "pynrrd")
def pynrrd(path, array):
    import nrrd

    values, header = nrrd.read(path, index_order="C")
    count = header.get("space dimension", 0)
    unit_of = header.get("space units", [""] * count)[::-1]
    space = iter(zip(unit_of, header.get("space origin", [None] * count)[::-1]))
    steps, starts, units = [], [], []
    mins = header.get("axis mins", header.get("axismins"))
    rank = header["dimension"]
    for axis in range(rank - 1, -1, -1):
        direction = header.get("space directions", np.full((rank, 1), np.nan))[axis]
        if direction is not None and not np.isnan(direction).any():
            unit, start = next(space)
            steps.append(direction[np.nonzero(direction)[0][0]])
            starts.append(start)
            units.append(unit)
            continue
        spacing = header.get("spacings", np.full(rank, np.nan))[axis]
        steps.append(None if np.isnan(spacing) else spacing)
        starts.append(None if mins is None or np.isnan(float(mins[axis])) else float(mins[axis]))
        units.append(header["units"][axis] if "units" in header else "")
    return Found(
        joined(values, array.dtype.kind == "c"),
        steps,
        starts,
        header.get("labels", [])[::-1] or None,
        units,
    )


@reader("mha", "simpleitk")
@reader("mhd", "simpleitk")
@reader("nhdr", "simpleitk")
@reader("nrrd", "simpleitk")
def simpleitk(path, array):
    import SimpleITK as sitk

    if array.ndim not in (2, 3, 4) or array.dtype.kind == "c" or array.dtype == "f2":
        return None
    image = sitk.ReadImage(path)
    values, rank = sitk.GetArrayFromImage(image), image.GetDimension()
    if values.ndim > rank:  # channels are the parts of its elements
        values = np.moveaxis(values, -1, 0)
    signs = np.diag(np.reshape(image.GetDirection(), (rank, rank)))
    steps = list((image.GetSpacing() * signs)[::-1])
    return Found(values, steps, list(image.GetOrigin()[::-1]))


@reader("nii", "nibabel")
def nibabel(path, array):
    import nibabel

    image = nibabel.load(path)
    values = np.asarray(image.dataobj.get_unscaled()).T
    if values.ndim > array.ndim:  # axes of length one in the places of space and time
        values = values.reshape(array.shape)
        return Found(values)
    slope, offset = image.dataobj.slope, image.dataobj.inter
    attributes = array.attrs.asdict()
    wanted = attributes.get("scale_factor"), attributes.get("add_offset")
    if not all(isclose(a, b) for a, b in zip((slope, offset), wanted) if b is not None):
        raise ValueError(f"slope and offset are {slope}, {offset}, expected {wanted}")
    if array.ndim > 3:
        return Found(values)
    axes, matrix = range(array.ndim - 1, -1, -1), image.affine
    unit = {"micron": "micrometer"}.get(image.header.get_xyzt_units()[0], ...)
    return Found(
        values,
        [matrix[i, i] for i in axes],
        [matrix[i, 3] for i in axes],
        units=[unit] * array.ndim,
    )


@reader("nii", "simpleitk")
def simpleitk_nii(path, array):
    import SimpleITK as sitk

    if array.ndim not in (2, 3) or array.dtype.kind == "c":
        return None
    if array.attrs.get("scale_factor"):
        return None  # it gives the scaled values
    values = sitk.GetArrayFromImage(sitk.ReadImage(path))
    return Found(values.reshape(array.shape) if values.size == array.size else values)


@reader("raw.hdr", "gdal")
def gdal(path, array):
    if array.ndim > 3 or array.dtype.str[1:] in ("i8", "u8") or "/kinds/" not in path:
        return None  # GDAL 3.6 reads no integers of 64 bits; the others are left out to save time
    return Found(translated(path[: -len(".hdr")], array))


def translated(path, array):
    """Returns the values that GDAL finds in a file."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as to:
        to_envi = [
            "gdal_translate",
            "-q",
            "-of",
            "ENVI",
            "-co",
            "INTERLEAVE=BSQ",
            path,
            f"{to}/a",
        ]
        subprocess.run(to_envi, check=True)
        values = np.fromfile(f"{to}/a", array.dtype.newbyteorder("="))
    return values.reshape(array.shape).astype("u1" if array.dtype.kind == "b" else array.dtype)


# The transforms of GDAL and the code of EPSG that the rasters have.
UTM = [400000.0, 10.0, 0.0, 5000000.0, 0.0, -10.0], 32632
GEO = {
    "cf": UTM,
    "gdal": UTM,
    "geozarr": UTM,
    "r10m": UTM,
    "r20m": ([400000.0, 20.0, 0.0, 5000000.0, 0.0, -20.0], 32632),
    "rotated": ([10.0, 0.0, 0.5, 50.0, 0.25, 0.0], 4326),
}
GEO["height"] = [-11.0, 2.0, 0.0, 62.5, 0.0, -5.0], None


def place_by_gdal(path):
    """Returns the transform that GDAL finds in a file, if any, and the text of the system."""
    import json

    out = subprocess.run(["gdalinfo", "-json", path], check=True, capture_output=True)
    info = json.loads(out.stdout)
    return info.get("geoTransform"), info.get("coordinateSystem", {}).get("wkt", "")


@reader("tif", "gdal")
def gdal_tif(path, array):
    name = os.path.basename(path)[:-4]
    if name not in GEO:
        return None  # the other arrays have no place; their planes are images of their own
    found, wkt = place_by_gdal(path)
    transform, code = GEO[name]
    if found != transform:
        raise ValueError(f"the transform is {found}, expected {transform}")
    if (code is None) != (wkt == "") or code and not wkt.endswith(f'ID["EPSG",{code}]]'):
        raise ValueError(f"the reference system is {wkt}, expected {code}")
    return Found(translated(path, array))


@reader("mrc", "mrcfile")
def mrcfile(path, array):
    import mrcfile

    with mrcfile.open(path) as f:
        found = Found(f.data)
        size, origin = f.voxel_size, f.header.origin
        if path.endswith("cells.mrc"):  # in angstroms
            found.steps = [n / 1e4 for n in (size.z, size.y, size.x)]
            found.starts = [n / 1e4 for n in (origin.z, origin.y, origin.x)]
    return found


# Units that FITS has by other names.
FITS_UNITS = {"micrometer": "um", "second": "s", "degrees_north": "deg", "degrees_east": "deg"}
FITS_ATTRIBUTES = {
    "BSCALE": "scale_factor",
    "BZERO": "add_offset",
    "BUNIT": "units",
    "BLANK": "_FillValue",
}


@reader("fits", "astropy")
def astropy(path, array):
    import warnings

    from astropy.io import fits

    size = os.path.getsize(path)
    with warnings.catch_warnings(), fits.open(
        path, memmap=True, do_not_scale_image_data=True
    ) as f:
        warnings.simplefilter("error")
        f.verify("exception")
        header = f[0].header
        if len(f) != 1 or size % 2880 or f[0].filebytes() != size:
            raise ValueError(f"{len(f)} images, {size} bytes")
        values = joined(np.array(f[0].data), array.dtype.kind == "c")
    attributes = array.attrs.asdict()
    for key, name in FITS_ATTRIBUTES.items():
        if ".zarr/" in path and header.get(key) != attributes.get(name):
            raise ValueError(f"{key} is {header.get(key)}, expected {attributes.get(name)}")
    axes = range(header["NAXIS"], header["NAXIS"] - array.ndim, -1)
    steps, starts, names, units = (
        [header.get(f"{key}{i}", missing) for i in axes]
        for key, missing in (("CDELT", None), ("CRVAL", None), ("CTYPE", ""), ("CUNIT", ""))
    )
    lies_at(header, starts)
    scaled_by_astropy(path, values, attributes)
    place = PLACES.get(path.split(".zarr/")[-1][: -len(".fits")])
    for i, unit in enumerate(place["units"] if place else []):
        if FITS_UNITS.get(unit) == units[i]:
            units[i] = unit
    return Found(values.reshape(array.shape), steps, starts, names, units)


def scaled_by_astropy(path, stored, attributes):
    """Raises an error unless astropy finds the values that CF says, in its 32 bits."""
    from astropy.io import fits

    if "scale_factor" not in attributes:
        return
    wanted = stored * attributes["scale_factor"] + attributes["add_offset"]
    wanted[stored == attributes["_FillValue"]] = np.nan
    found = fits.getdata(path)
    if not np.allclose(found, wanted, rtol=1e-5, equal_nan=True) or not np.isnan(found).any():
        raise ValueError("other scaled values")


def lies_at(header, starts):
    """Raises an error unless the world coordinates of the first element are these starts."""
    import warnings

    from astropy.wcs import WCS

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of units that it does not know
        world = WCS(header).wcs_pix2world(np.zeros((1, header["NAXIS"])), 0)[0][::-1]
    if not all(start is None or isclose(start, at) for start, at in zip(starts, world)):
        raise ValueError(f"the first element lies at {world}, expected {starts}")


@reader("fits", "gdal")
def gdal_fits(path, array):
    if array.ndim != 3 or array.dtype.kind in "cb" or array.dtype.str[1:] == "i8":
        return None  # GDAL 3.6 reads no integers of 64 bits; complex numbers are planes
    if "/kinds/" not in path:
        return None  # the others are left out to save time
    return Found(translated(path, array)[..., ::-1, :])  # it has the last line first


@reader("tif", "tifffile")
def tifffile(path, array):
    import tifffile

    with tifffile.TiffFile(path) as f:
        values = f.asarray()
        kept = f.pages[0].tags
    if path.endswith("image/1.tif"):
        x, y, unit = (kept[tag].value for tag in ("XResolution", "YResolution", "ResolutionUnit"))
        if x[0] / x[1] != 20000 or y[0] / y[1] != 20000 or unit != 3:
            raise ValueError(f"resolutions are {x}, {y} in unit {unit}, expected 20000 per cm")
    # Channels and time are elsewhere in ImageJ's files: their planes are in the order of the file.
    return Found(values.reshape(array.shape))


@reader("ome.tif", "tifffile")
def tifffile_ome(path, array):
    import tifffile
    import xml.etree.ElementTree as xml

    with tifffile.TiffFile(path) as f:
        if not f.is_ome or not f.is_bigtiff or len(f.series) != 1:
            raise ValueError("it is not one image of OME")
        # It gives them from the slowest to the fastest, without axes of length one.
        values, axes = f.series[0].asarray(), f.series[0].axes
        found = Found(values.reshape(array.shape))
        pixels = xml.fromstring(f.ome_metadata).find(".//{*}Pixels")
    if path.endswith("image/1.ome.tif"):
        said = [
            pixels.get(k)
            for k in ("DimensionOrder", "PhysicalSizeX", "PhysicalSizeZ", "TimeIncrement")
        ]
        names = [c.get("Name") for c in pixels.findall("{*}Channel")]
        units = [pixels.get(k) for k in ("PhysicalSizeXUnit", "TimeIncrementUnit")]
        if (
            said != ["XYZCT", "0.5", "2", "0.5"]
            or names != ["DAPI", "GFP", "RFP"]
            or units != ["µm", "s"]
        ):
            raise ValueError(f"{said}, {names}, {units}")
        if axes != "TCZYX":
            raise ValueError(f"the axes are {axes}")
    return found


@reader("mhd", "vtk")
@reader("nrrd", "vtk")
def vtk(path, array):
    import vtkmodules.all as vtk
    from vtkmodules.util.numpy_support import vtk_to_numpy

    if array.ndim != 3 or array.dtype not in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"):
        return None  # it crashes, or stops with an error
    read = vtk.vtkNrrdReader() if path.endswith("nrrd") else vtk.vtkMetaImageReader()
    read.SetFileName(path)
    read.Update()
    image = read.GetOutput()
    values = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(array.shape)
    steps = image.GetSpacing()[::-1]
    if path.endswith("nrrd"):
        steps = None  # it gives each axis the step of the next, also in files of pynrrd
    return Found(values, steps, image.GetOrigin()[::-1])


@reader("vtkhdf", "vtk")
def vtkhdf(path, array):
    found = vtkhdf_image(path, array)
    found.steps, found.starts = in_one_unit(path, found.steps, found.starts)
    return found


def vtkhdf_image(path, array):
    import vtkmodules.all as vtk
    from vtkmodules.util.numpy_support import vtk_to_numpy

    read = vtk.vtkHDFReader()
    if not read.CanReadFile(path):
        raise ValueError("VTK cannot read it")
    read.SetFileName(path)
    read.Update()
    image = read.GetOutput()
    if image.GetDimensions() != (*array.shape[::-1], 1, 1)[:3]:
        raise ValueError(f"dimensions {image.GetDimensions()}")
    values = vtk_to_numpy(image.GetPointData().GetArray("values"))
    values = joined(values, array.dtype.kind == "c").reshape(array.shape)
    towards = [image.GetDirectionMatrix().GetElement(i, i) for i in range(3)]
    steps = [s * d for s, d in zip(image.GetSpacing(), towards)]
    return Found(
        values, steps[: array.ndim][::-1], image.GetOrigin()[: array.ndim][::-1]
    )


def in_one_unit(path, steps, starts):
    """Steps and starts where VTK can say them, those of axes of space."""
    expected = PLACES.get(path.split(".zarr/")[1].rsplit(".", 1)[0])
    if expected is None or len(steps) != len(expected["units"]):
        return None, None
    units = {u for u in expected["units"] if "meter" in u or "degree" in u}
    if len(units) > 1:
        assert set(steps) == {1.0} and set(starts) == {0.0}
        return None, None
    return steps, starts


@functools.cache
def plain_name(store):
    """Another name of a store. napari takes a path with a folder "x.zarr" for a store itself."""
    folder = tempfile.TemporaryDirectory()
    os.symlink(store, os.path.join(folder.name, "s"))
    return folder, os.path.join(folder.name, "s")


@reader("ome.tif", "napari")
@reader("tif", "napari")
@reader("npy", "napari")
def napari(path, array):
    from napari_builtins.io import napari_get_reader

    store = path[: path.index(".zarr/") + 5]
    path = plain_name(store)[1] + path[len(store) :]
    ((values, *_),) = napari_get_reader(path)(path)
    if path.endswith(".npy"):
        values = values.view("u1") if array.dtype.kind == "b" else values
        return Found(values)
    if is_one_image(path, array):
        return None  # it has bands as colours, after lines and columns
    return Found(np.asarray(values).reshape(array.shape))


class Java:
    """ImageJ and Bio-Formats, in one process; see image-readers/Images.java."""

    TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "image-readers", "target")

    def __init__(self):
        places = [os.path.join(self.TARGET, p) for p in ("classes", "lib/*", "bioformats.jar")]
        self.process = subprocess.Popen(["java", "-cp", ":".join(places), "Images"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.process.communicate)  # it ends, and has closed all files
        versions = self.line()
        if len(versions) != 2:
            raise RuntimeError("ImageJ and Bio-Formats do not start: make peers")
        self.versions = dict(zip(("imagej", "bioformats"), versions))

    def line(self):
        return self.process.stdout.readline().decode().rstrip("\n").split("\t")

    def last_plane(self, path, program):
        """Returns the lengths that the program finds, and the values of the last plane."""
        found, _ = self.open(program + "-last", path)
        return found.shape, found.values

    def open(self, program, path):
        """Returns what the program finds, and the names of the channels."""
        self.process.stdin.write(f"{program} {path}\n".encode())
        self.process.stdin.flush()
        dtype, *fields = self.line()
        if dtype == "error":
            raise ValueError(fields[0])
        shape, steps, units, channels, size = (f.split(",") for f in fields)
        shape = [int(n) for n in shape]
        values = np.frombuffer(self.process.stdout.read(int(size[0])), dtype)
        steps = [... if s == "-" else float(s) for s in steps]
        units = [... if u == "-" else u for u in units]
        found = Found(values.reshape(shape[3:] if program.endswith("-last") else shape), steps,
            units=units)
        found.shape = shape
        return found, channels


@functools.cache
def java():
    return Java()


def has_java():
    """Whether ImageJ and Bio-Formats are installed. With ZARRFS_REQUIRE_PEERS=1 they must be."""
    if os.path.exists(os.path.join(Java.TARGET, "made-of")) or os.environ.get(
            "ZARRFS_REQUIRE_PEERS") == "1":
        return True
    print("SKIPPED: ImageJ and Bio-Formats are not installed: make peers")
    return False


def is_one_image(path, array):
    """Whether a .tif has all planes in one image, as GeoTIFF has bands."""
    import tifffile

    with tifffile.TiffFile(path) as f:
        return array.ndim > 2 and len(f.pages) == 1


@reader("tif", "imagej")
def imagej(path, array):
    if array.dtype.str[1:] not in ("b1", "u1", "u2", "i2", "f4"):
        return None  # it has integers of 32 bits as floats, int8 as uint8, and opens no others
    if is_one_image(path, array):
        return None  # it shows the first band alone
    found, _ = java().open("imagej", path)
    if path.endswith("image/stack.tif"):
        found.values = found.values.transpose(0, 2, 1, 3, 4)
    elif array.ndim > 3 and found.values.shape[:2] != (1, 1):
        raise ValueError(f"it has the planes as {found.values.shape}")
    if path.endswith("image/1.tif"):
        found.steps[:3] = [...] * 3  # its axes are not in ImageJ's order
        found.units = [...] * 3 + ["micrometer" if u == "µm" else u for u in found.units[3:]]
    elif path.endswith("micro/cells.tif"):
        found.steps = found.steps[2:]
        found.units = ["micrometer" if u == "micron" else u for u in found.units[2:]]
    else:
        found.steps = found.units = None
    found.values = found.values.reshape(array.shape)
    return found


@reader("nii", "bioformats")
@reader("ome.tif", "bioformats")
@reader("tif", "bioformats")
def bioformats(path, array):
    if array.dtype.kind == "c" or array.dtype.str[1:] in ("i8", "u8", "f2"):
        return None  # it gives float16 as float32, and opens no others
    if path.endswith(".tif") and is_one_image(path, array):
        return None  # it takes bands for colours
    if path.endswith(".nii") and array.ndim > 4:
        return None  # it takes the planes of five axes in another order than NIfTI has them
    found, channels = java().open("bioformats", path)
    if path.endswith(("stack.tif", "stack.ome.tif")):
        found.values = found.values.transpose(0, 2, 1, 3, 4)
    found.values = found.values.reshape(array.shape)
    names = {"µm": "micrometer", "s": "second"}
    if path.endswith("micro/cells.ome.tif"):
        found.steps, found.units = found.steps[2:], [names.get(u, u) for u in found.units[2:]]
        return found
    if not path.endswith("image/1.ome.tif"):
        found.steps = found.units = None
        return found
    if channels != ["DAPI", "GFP", "RFP"]:
        raise ValueError(f"the channels are {channels}")
    found.units = [names.get(u, u) for u in found.units]
    return found


def version(package):
    """Returns the version of a package of Python, of GDAL's programs, or of programs in Java."""
    if package in ("imagej", "bioformats"):
        return java().versions[package]
    if package != "gdal":
        return importlib.metadata.version(package)
    import subprocess

    return (
        subprocess.run(["gdalinfo", "--version"], capture_output=True, text=True)
        .stdout.split()[1]
        .strip(",")
    )


def main():
    stores, mount, view = sys.argv[1:]
    wrong = 0
    for package, open_file in READERS[view]:
        if package in ("imagej", "bioformats"):
            if not has_java():
                continue
            java()  # if it does not start, that is said once
        seen = different = 0
        for store, path, array in arrays(stores):
            file = f"{mount}/{store}/{path}.{view}"
            if not os.path.exists(file):
                continue
            found = None
            try:
                found = open_file(file, array)
                why = "" if found is None else values_differ(found.values, array)
                if found is not None and path in PLACES:
                    why = why or place_differs(found, PLACES[path])
            except Exception as e:
                why = f"{type(e).__name__}: {e}"
            seen += found is not None
            if why:
                different += 1
                print(f"{package}: {store}/{path}.{view}: {why}", file=sys.stderr)
        if seen == 0:
            print(f"{package}: no array was read", file=sys.stderr)
        print(f"{view} {package} {version(package)} {seen} arrays, {different} different")
        wrong += different + (seen == 0)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
