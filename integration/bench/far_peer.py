#!/usr/bin/env python3
"""Read a whole array from a server of S3 with a library, and print the time as JSON.

Usage: far_peer.py tensorstore|obstore|s3fs|rclone PATH FORMAT

PATH is the array, as BUCKET/KEY; of rclone it is that in a mount. FAR_URL is the server's URL, and
SSL_CERT_FILE its certificate. Interpreter start and imports are not counted, opening the array is.
All libraries may have as many requests under way as zarrfs.
"""

import json
import os
import sys

import numpy as np

from runs import measured

REQUESTS = 64


def credentials():
    return os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]


def by_tensorstore(path, fmt):
    import tensorstore as ts

    bucket, _, key = path.partition("/")
    spec = {
        "driver": "zarr3" if fmt == 3 else "zarr",
        "context": {"s3_request_concurrency": {"limit": REQUESTS}},
        "kvstore": {
            "driver": "s3",
            "bucket": bucket,
            "path": key + "/",
            "endpoint": os.environ["FAR_URL"],
            "aws_region": "us-east-1",
            "aws_credentials": {"type": "environment"},
        },
    }
    return lambda: ts.open(spec, read=True).result().read().result()


def open_zarr(store, fmt):
    import zarr

    zarr.config.set({"async.concurrency": REQUESTS})
    return np.asarray(zarr.open_array(store, mode="r", zarr_format=fmt)[...])


def by_obstore(path, fmt):
    from obstore.store import S3Store
    from zarr.storage import ObjectStore

    key, secret = credentials()
    bucket, _, prefix = path.partition("/")
    return lambda: open_zarr(
        ObjectStore(
            S3Store(
                bucket,
                prefix=prefix,
                endpoint=os.environ["FAR_URL"],
                region="us-east-1",
                access_key_id=key,
                secret_access_key=secret,
                client_options={"allow_http": True, "allow_invalid_certificates": True},
            ),
            read_only=True,
        ),
        fmt,
    )


def by_s3fs(path, fmt):
    import s3fs
    from zarr.storage import FsspecStore

    key, secret = credentials()
    client = {
        "endpoint_url": os.environ["FAR_URL"],
        "region_name": "us-east-1",
        "verify": os.environ.get("SSL_CERT_FILE", False),
    }
    return lambda: open_zarr(
        FsspecStore(
            s3fs.S3FileSystem(
                key=key,
                secret=secret,
                client_kwargs=client,
                asynchronous=True,
                config_kwargs={"max_pool_connections": REQUESTS},
            ),
            path=path,
            read_only=True,
        ),
        fmt,
    )


def by_rclone(path, fmt):
    import zarr  # before the time is taken

    assert zarr
    return lambda: open_zarr(path, fmt)


def main():
    library, path, fmt = sys.argv[1:]
    import zarr

    assert zarr
    print(json.dumps(measured(globals()["by_" + library](path, int(fmt)))))


if __name__ == "__main__":
    main()
