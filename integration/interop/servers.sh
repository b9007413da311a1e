#!/bin/sh
# Installs the servers of object stores that tests run: versitygw and MinIO (both speak S3),
# fake-gcs-server, and Azurite (needs node). They go into .servers at the top of the repository, or
# into the folder that ZARRFS_SERVERS names. What is there already stays. Building MinIO takes a few
# minutes. With the argument "far" it installs versitygw and rclone, for `make bench-remote`.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
servers=${ZARRFS_SERVERS:-$top/.servers}
mkdir -p "$servers/bin"

build() { # build NAME MODULE: build a program in Go, outside of our own module
    if [ ! -x "$servers/bin/$1" ]; then
        (cd "$servers" && GOBIN="$servers/bin" GOFLAGS=-mod=mod CGO_ENABLED=0 go install "$2")
    fi
}

build versitygw github.com/versity/versitygw/cmd/versitygw@v1.8.0
if [ "${1:-}" = far ]; then
    build rclone github.com/rclone/rclone@v1.76.0
    exit
fi
build fake-gcs-server github.com/fsouza/fake-gcs-server@v1.56.1
build minio github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c

if [ ! -e "$servers/node_modules/.bin/azurite-blob" ]; then
    npm install --silent --no-fund --no-audit --prefix "$servers" azurite@3.37.0
fi
