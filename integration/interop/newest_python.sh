#!/bin/sh
# Print the path of the newest Python on this machine, on the PATH or installed by pyenv. It must be
# 3.12 or later, because the newest zarr-python needs that. If ZARRFS_PYTHON is set, only the Python
# that it names is tried. The exit status is not 0 if there is none.
set -eu

usable() { # usable PYTHON: it is new enough, and can make a virtual environment
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null
}

if [ -n "${ZARRFS_PYTHON:-}" ]; then
    usable "$ZARRFS_PYTHON" && echo "$ZARRFS_PYTHON"
    exit
fi
for minor in 14 13 12; do
    for python in "$(command -v "python3.$minor" || true)" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python; do
        if [ -x "$python" ] && usable "$python"; then
            echo "$python"
            exit
        fi
    done
done
if usable "$(command -v python3 || true)"; then
    command -v python3
    exit
fi
exit 1
