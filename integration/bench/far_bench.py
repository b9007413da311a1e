#!/usr/bin/env python3
"""Measure zarrfs and other libraries at the near end of a slow link, with a server at the far end.

Usage: wan far_bench.py --bin zarrfs --data bench-data/far --servers .servers [--rounds 3]
                        [--tls off,on] [--peers tensorstore,obstore,s3fs,rclone] [W1 W2 ...]

`wan` (integration/wan) makes the link. make_workloads.py --quarter has made the workloads, which
versitygw serves as they are. In each round each contestant reads the whole array once: with a new
process, or a new mount, and new connections. The time of the link is that of as many bytes as are
stored, by new connections, without any protocol above TCP.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

from daemon import Daemon
from make_workloads import WORKLOADS, stored_bytes

KEY, SECRET, PORT = "benchkey", "bench-secret", 7070
LINES = 32  # connections of the bare link
ARRAYS = 10_000
READS = 15
ETAG = "user.etag"  # where versitygw looks for it


class Server:
    """with Server(servers, folder, tls): versitygw at the far end. Its buckets are folders."""

    def __init__(self, servers, folder, tls):
        self.program, self.folder, self.tls = os.path.join(servers, "bin", "versitygw"), folder, tls
        self.url = f"http{'s' if tls else ''}://{os.environ['WAN_FAR']}:{PORT}"

    def __enter__(self):
        self.own = tempfile.mkdtemp(prefix="zarrfs-far-")
        options = ["--port", f"{os.environ['WAN_FAR']}:{PORT}", "--keep-alive", "--quiet"]
        self.env = dict(os.environ, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION="us-east-1",
                        AWS_ENDPOINT_URL_S3=self.url, FAR_URL=self.url, AWS_EC2_METADATA_DISABLED="true",
                        AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null")
        if self.tls:
            cert, key = self.certificate()
            options += ["--cert", cert, "--key", key]
            self.env |= {name: cert for name in ("SSL_CERT_FILE", "TENSORSTORE_CA_BUNDLE", "RCLONE_CA_CERT")}
        os.environ.update(self.env)
        self.log = open(os.path.join(self.own, "log"), "w+")
        self.process = subprocess.Popen(
            ["nsenter", "--net=" + os.environ["WAN_NET"], self.program, *options, "posix", self.folder],
            env=dict(self.env, ROOT_ACCESS_KEY=KEY, ROOT_SECRET_KEY=SECRET), stdout=self.log, stderr=self.log)
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
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=far", "-addext", f"subjectAltName=IP:{os.environ['WAN_FAR']}", "-out", cert, "-keyout", key],
            check=True, stderr=subprocess.DEVNULL)
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
    array = {"zarr_format": 3, "node_type": "array", "shape": [100], "data_type": "int32", "fill_value": 0,
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
             "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    names = [f"v{i:05d}" for i in range(ARRAYS)]
    if consolidated:
        group["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": {n: array for n in names}}
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


def bare_link(nbytes):
    """The seconds that so many bytes take."""
    def line():
        pull(socket.create_connection((os.environ["WAN_FAR"], int(os.environ["WAN_SOURCE"]))), nbytes // LINES)

    lines = [threading.Thread(target=line) for _ in range(LINES)]
    return timed(lambda: ([x.start() for x in lines], [x.join() for x in lines]))


def timed(do):
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def read_all(path, other=None):
    """Read a file to its end; compare it with the end of another one."""
    buffer = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as f:
        if other:
            other.seek(-os.fstat(f.fileno()).st_size, os.SEEK_END)
        while n := f.readinto(buffer):
            if other and other.read(n) != buffer[:n]:
                raise SystemExit(f"{path} differs")


def ours(args, name, fmt, flags=(), other=None):
    """The seconds of a scan in a new mount, and the bytes that came for it."""
    with Daemon(args.bin, f"s3://far/{name}.zarr", flags) as d:
        before = d.status()["bytes"]
        took = timed(lambda: read_all(os.path.join(d.dir, "a.raw"), other))
        return took, d.status()["bytes"] - before


def by_peer(library, path, fmt):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "far_peer.py")
    with tempfile.TemporaryFile("w+") as said:  # s3fs has much to say at its end
        out = subprocess.run([sys.executable, "-W", "ignore", here, library, path, str(fmt)], stdout=subprocess.PIPE, stderr=said)
        if out.returncode != 0:
            said.seek(0)
            raise SystemExit(f"{library} cannot read {path}:\n{said.read()}")
    return json.loads(out.stdout)["wall"]


def by_rclone(args, name, fmt):
    """The same by zarr-python over a mount of rclone."""
    env = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": os.environ["FAR_URL"], "REGION": "us-east-1",
           "ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET}
    dir = tempfile.mkdtemp(prefix="zarrfs-rclone-")
    mount = subprocess.Popen([os.path.join(args.servers, "bin", "rclone"), "mount", "--read-only", "far:far", dir],
                             env=os.environ | {"RCLONE_CONFIG_FAR_" + k: v for k, v in env.items()})
    while not os.path.ismount(dir):
        if mount.poll() is not None:
            raise SystemExit("rclone has ended")
        time.sleep(0.01)
    try:
        return by_peer("rclone", os.path.join(dir, name + ".zarr", "a"), fmt)
    finally:
        subprocess.run(["fusermount3", "-u", dir], check=True)
        mount.wait()
        os.rmdir(dir)


def scan(args, name, tls):
    """A row of the table of scans."""
    w, store = WORKLOADS[name].quarter(), os.path.join(args.data, name + ".zarr")
    size, found, fetched = stored_bytes(store), {}, []
    for _ in range(args.rounds):
        def add(who, seconds):
            found.setdefault(who, []).append(seconds)

        add("link", bare_link(size))
        took, came = ours(args, name, w.format)
        add("zarrfs", took)
        fetched.append(came / size)
        for peer in args.peers:
            add(peer, by_rclone(args, name, w.format) if peer == "rclone" else by_peer(peer, f"far/{name}.zarr/a", w.format))
    mid = {who: statistics.median(s) for who, s in found.items()}
    ratio = {who: statistics.median(a / b for a, b in zip(s, found["zarrfs"])) for who, s in found.items()}
    cells = [name, "on" if tls else "off", f"{mid['link']:.2f}", f"{mid['zarrfs']:.2f} ({ratio['link']:.2f})"]
    cells += [f"{mid[p]:.2f} ({ratio[p]:.2f})" for p in args.peers]
    cells.append(f"{max(fetched):.3f}")
    goals = {"link ≥ 0.9": ratio["link"] >= 0.9, "fetched ≤ 1.02": max(fetched) <= 1.02}
    if name == "W5":
        goals = {"3.5 s": mid["zarrfs"] <= 3.5, "fetched ≤ 1.02": max(fetched) <= 1.02}
    if args.peers:
        goals["peers ≥ 1.0"] = min(ratio[p] for p in args.peers) >= 1
    print("| " + " | ".join(cells + [", ".join(("✓ " if ok else "✗ ") + g for g, ok in goals.items())]) + " |", flush=True)


def random_reads(args, name, delay):
    """4 KiB at random places of a new mount: how long, and by how many requests."""
    w = WORKLOADS[name].quarter()
    rng, took, asked = random.Random(3), [], []
    with Daemon(args.bin, f"s3://far/{name}.zarr") as d:
        with open(os.path.join(d.dir, "a.raw"), "rb", buffering=0) as f:
            for _ in range(READS):
                at = rng.randrange(w.nbytes // 4096) * 4096
                before = d.status()
                took.append(timed(lambda: os.pread(f.fileno(), 4096, at)))
                after = d.status()
                asked.append(after["requests"] - before["requests"])
    trips = statistics.median(took) / delay
    print(f"| {name}: 4 KiB, not read before | {statistics.median(took) * 1000:.0f} ms, {trips:.2f} round trips | "
          f"{statistics.median(asked):.0f} | {max(asked)} |", flush=True)


def long_list(folder):
    return timed(lambda: subprocess.run(["ls", "-l", folder], stdout=subprocess.DEVNULL, check=True))


def lists(args, store):
    """`ls -l` of many arrays, beside that of a mount of the folder that is served."""
    with Daemon(args.bin, os.path.join(args.data, store + ".zarr"), ["--read-only"]) as d:
        local = long_list(d.dir)
    with Daemon(args.bin, f"s3://far/{store}.zarr") as d:
        before = d.status()["requests"]
        took = long_list(d.dir)
        asked = d.status()["requests"] - before
    print(f"| `ls -l` of {ARRAYS} arrays, {store} | {took:.2f} s, of the folder {local:.2f} s | {asked} | |", flush=True)


def opens_again(args, delay):
    with Daemon(args.bin, "s3://far/W2.zarr") as d:
        path, took, asked = os.path.join(d.dir, "a.raw"), [], []
        for _ in range(5):
            before = d.status()["requests"]
            took.append(timed(lambda: os.close(os.open(path, os.O_RDONLY))))
            asked.append(d.status()["requests"] - before)
        print(f"| open, and again | {took[0] * 1000:.0f} ms, again {statistics.median(took[1:]) * 1000:.0f} ms | "
              f"{asked[0]} | again {max(asked[1:])} |", flush=True)


def disk_cache(args, name):
    w = WORKLOADS[name].quarter()
    with tempfile.TemporaryDirectory(prefix="zarrfs-cache-") as cache:
        flags = ("--cache-dir", cache)
        cold, came = ours(args, name, w.format, flags)
        with open(os.path.join(args.data, name + ".npy"), "rb") as plain:
            warm, again = ours(args, name, w.format, flags, plain)
        print(f"| {name}: scan with --cache-dir, and again | {cold:.2f} s, again {warm:.2f} s | "
              f"{came / 1e6:.1f} MB | again {again / 1e6:.4f} MB |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data/far")
    p.add_argument("--servers", default=".servers")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--tls", default="off,on")
    p.add_argument("--peers", default="tensorstore,obstore,s3fs,rclone")
    p.add_argument("--small", default="on", help="off: scans only")
    p.add_argument("names", nargs="*", default=[], metavar="W")
    args = p.parse_args()
    if "WAN_FAR" not in os.environ:
        raise SystemExit("this runs at the near end of a link: go run ./integration/wan " + " ".join(sys.argv))
    args.bin, args.data, args.servers = map(os.path.abspath, (args.bin, args.data, args.servers))
    args.peers = [x for x in args.peers.split(",") if x]
    names = args.names or ["W1", "W2", "W3", "W5", "W6"]
    for store in ("consolidated", "plain"):
        if not os.path.exists(os.path.join(args.data, store + ".zarr")):
            make_many(os.path.join(args.data, store + ".zarr"), store == "consolidated")
    mark(args.data)
    delay = statistics.median(timed(lambda: socket.create_connection(
        (os.environ["WAN_FAR"], int(os.environ["WAN_SOURCE"])))) for _ in range(5))
    print(f"round trip {delay * 1000:.1f} ms\n")
    print("| workload | TLS | link s | zarrfs s (link by it) |" + "".join(f" {x} s (by zarrfs) |" for x in args.peers) +
          " fetched by stored | goals |")
    print("|" + "---|" * (6 + len(args.peers)))
    for tls in args.tls.split(","):
        with Server(args.servers, os.path.dirname(args.data), tls == "on"):
            for name in names:
                scan(args, name, tls == "on")
    if args.small == "off":
        return
    print("\n| what | time | requests | at most |\n|---|---|---|---|")
    with Server(args.servers, os.path.dirname(args.data), False):
        for name in names:
            random_reads(args, name, delay)
        for store in ("consolidated", "plain"):
            lists(args, store)
        opens_again(args, delay)
        disk_cache(args, "W2")


if __name__ == "__main__":
    main()
