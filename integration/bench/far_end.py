"""What is at the far end of a link: a server of S3 with the workloads, and the bare link."""

import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

KEY, SECRET, PORT = "benchkey", "bench-secret", 7070
LINES = 32  # connections of the bare link
ARRAYS = 10_000
ETAG = "user.etag"  # where versitygw looks for it


class Server:
    """with Server(servers, folder, tls): versitygw at the far end. Its buckets are folders."""

    def __init__(self, servers, folder, tls):
        self.program, self.folder, self.tls = os.path.join(servers, "bin", "versitygw"), folder, tls
        self.url = f"http{'s' if tls else ''}://{os.environ['WAN_FAR']}:{PORT}"

    def __enter__(self):
        self.own = tempfile.mkdtemp(prefix="zarrfs-far-")
        options = ["--port", f"{os.environ['WAN_FAR']}:{PORT}", "--keep-alive", "--quiet"]
        self.env = dict(
            os.environ,
            AWS_ACCESS_KEY_ID=KEY,
            AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_REGION="us-east-1",
            AWS_ENDPOINT_URL_S3=self.url,
            FAR_URL=self.url,
            AWS_EC2_METADATA_DISABLED="true",
            AWS_CONFIG_FILE="/dev/null",
            AWS_SHARED_CREDENTIALS_FILE="/dev/null",
        )
        if self.tls:
            cert, key = self.certificate()
            options += ["--cert", cert, "--key", key]
            self.env |= {
                name: cert for name in ("SSL_CERT_FILE", "TENSORSTORE_CA_BUNDLE", "RCLONE_CA_CERT")
            }
        os.environ.update(self.env)
        self.log = open(os.path.join(self.own, "log"), "w+")
        self.process = subprocess.Popen(
            [
                "nsenter",
                "--net=" + os.environ["WAN_NET"],
                self.program,
                *options,
                "posix",
                self.folder,
            ],
            env=dict(self.env, ROOT_ACCESS_KEY=KEY, ROOT_SECRET_KEY=SECRET),
            stdout=self.log,
            stderr=self.log,
        )
        for _ in range(200):
            try:
                socket.create_connection((os.environ["WAN_FAR"], PORT)).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.log.seek(0)
        raise SystemExit("versitygw does not listen:\n" + self.log.read())

    def certificate(self):
        cert, key = os.path.join(self.own, "cert.pem"), os.path.join(self.own, "key.pem")
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=far",
                "-addext",
                f"subjectAltName=IP:{os.environ['WAN_FAR']}",
                "-out",
                cert,
                "-keyout",
                key,
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return cert, key

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.own)


def mark(folder):
    """Give each file the ETag that it would have, had it been stored through the server."""
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            if name.endswith(".npy") or ETAG in os.listxattr(path):
                continue
            with open(path, "rb") as f:
                os.setxattr(path, ETAG, hashlib.file_digest(f, "md5").hexdigest().encode())


def make_many(path, consolidated):
    """A group of many arrays, none of which has a chunk."""
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [100],
        "data_type": "int32",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    names = [f"v{i:05d}" for i in range(ARRAYS)]
    if consolidated:
        group["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": {n: array for n in names},
        }
    for name, document in [("", group)] + [(n, array) for n in names]:
        os.makedirs(os.path.join(path + ".part", name), exist_ok=True)
        with open(os.path.join(path + ".part", name, "zarr.json"), "w") as f:
            json.dump(document, f)
    os.rename(path + ".part", path)


def pull(connection, n):
    connection.sendall(struct.pack(">Q", n))
    buffer = bytearray(1 << 20)
    while n:
        n -= connection.recv_into(buffer, min(n, len(buffer)))


def connect():
    return socket.create_connection((os.environ["WAN_FAR"], int(os.environ["WAN_SOURCE"])))


def bare_link(nbytes):
    """The seconds that so many bytes take."""

    def line():
        pull(connect(), nbytes // LINES)

    lines = [threading.Thread(target=line) for _ in range(LINES)]
    return timed(lambda: ([x.start() for x in lines], [x.join() for x in lines]))


def timed(do):
    began = time.perf_counter()
    do()
    return time.perf_counter() - began
