#!/bin/sh
# Make the two virtual environments that the interop test and the benchmark use, .venv-v3 and .venv-v2 at the top of
# the repository. One that ZARRFS_PY3 or ZARRFS_PY2 names is used as it is. Done once per requirements file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

make_venv() { # make_venv FOLDER REQUIREMENTS PYTHON-GIVEN
    if [ -n "$3" ]; then
        "$3" -c 'import zarr, numpy' && return 0
        echo "$3 has no zarr" >&2
        return 1
    fi
    if cmp -s "$2" "$1/requirements.txt"; then
        return 0
    fi
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "python3 with venv is missing: apt-get install python3-venv" >&2
        return 1
    fi
    rm -rf "$1"
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2"
    cp "$2" "$1/requirements.txt"
}

make_venv "$top/.venv-v3" "$here/requirements-v3.txt" "${ZARRFS_PY3:-}"
make_venv "$top/.venv-v2" "$here/requirements-v2.txt" "${ZARRFS_PY2:-}"
