#!/bin/sh
# Print the path of the newest Python of 3.12 or later on this machine, which the newest zarr-python
# needs: one on the PATH, one that pyenv has installed, or one that ZARRFS_PYTHON names. The exit
# status is 1 if there is none.
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
