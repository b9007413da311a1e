#!/bin/sh
# peers.sh PY3 PY2 VENV3 VENV2: makes the virtual environments of the peers,
# unless the given Pythons are there already.
set -eu
here=$(dirname "$0")/interop
make_env() { # PYTHON VENV REQUIREMENTS
	[ -x "$1" ] && return
	echo "installing $(basename "$3") into $2"
	python3 -m venv "$2"
	"$2/bin/pip" install --quiet --disable-pip-version-check -r "$3"
}
make_env "$1" "$3" "$here/requirements-v3.txt"
make_env "$2" "$4" "$here/requirements-v2.txt"
