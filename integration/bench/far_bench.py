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
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from daemon import Daemon
from far_end import ARRAYS, KEY, SECRET, Server, bare_link, connect, make_many, mark, timed
from make_workloads import WORKLOADS, stored_bytes

READS = 15


def read_all(path, other=None):
    """Read a file to its end; compare it with the end of another one."""
    buffer = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as f:
        if other:
            other.seek(-os.fstat(f.fileno()).st_size, os.SEEK_END)
        while n := f.readinto(buffer):
            if other and other.read(n) != buffer[:n]:
                raise SystemExit(f"{path} differs")


def ours(args, name, flags=(), other=None):
    """The seconds of a scan in a new mount, and the bytes that came for it."""
    with Daemon(args.bin, f"s3://far/{name}.zarr", flags) as d:
        before = d.status()["bytes"]
        took = timed(lambda: read_all(os.path.join(d.dir, "a.raw"), other))
        return took, d.status()["bytes"] - before


def by_peer(library, path, fmt):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "far_peer.py")
    with tempfile.TemporaryFile("w+") as said:  # s3fs has much to say at its end
        out = subprocess.run(
            [sys.executable, "-W", "ignore", here, library, path, str(fmt)],
            stdout=subprocess.PIPE,
            stderr=said,
        )
        if out.returncode != 0:
            said.seek(0)
            raise SystemExit(f"{library} cannot read {path}:\n{said.read()}")
    return json.loads(out.stdout)["wall"]


def by_rclone(args, name, fmt):
    """The same by zarr-python over a mount of rclone."""
    env = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": os.environ["FAR_URL"],
        "REGION": "us-east-1",
        "ACCESS_KEY_ID": KEY,
        "SECRET_ACCESS_KEY": SECRET,
    }
    dir = tempfile.mkdtemp(prefix="zarrfs-rclone-")
    mount = subprocess.Popen(
        [os.path.join(args.servers, "bin", "rclone"), "mount", "--read-only", "far:far", dir],
        env=os.environ | {"RCLONE_CONFIG_FAR_" + k: v for k, v in env.items()},
    )
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
        found.setdefault("link", []).append(bare_link(size))
        took, came = ours(args, name)
        found.setdefault("zarrfs", []).append(took)
        fetched.append(came / size)
        for peer in args.peers:
            if peer == "rclone":
                took = by_rclone(args, name, w.format)
            else:
                took = by_peer(peer, f"far/{name}.zarr/a", w.format)
            found.setdefault(peer, []).append(took)
    print_scan(name, tls, found, max(fetched))


def print_scan(name, tls, found, fetched):
    mid = {who: statistics.median(s) for who, s in found.items()}
    pairs = {who: zip(s, found["zarrfs"]) for who, s in found.items()}
    ratio = {who: statistics.median(a / b for a, b in p) for who, p in pairs.items()}
    peers = [who for who in found if who not in ("link", "zarrfs")]
    cells = [name, "on" if tls else "off", f"{mid['link']:.2f}"]
    cells.append(f"{mid['zarrfs']:.2f} ({ratio['link']:.2f})")
    cells += [f"{mid[p]:.2f} ({ratio[p]:.2f})" for p in peers]
    goals = {"fetched ≤ 1.02": fetched <= 1.02}
    if name == "W5":
        goals["3.5 s"] = mid["zarrfs"] <= 3.5
    else:
        goals["link ≥ 0.9"] = ratio["link"] >= 0.9
    if peers:
        goals["peers ≥ 1"] = min(ratio[p] for p in peers) >= 1
    cells += [f"{fetched:.3f}", ", ".join("✗✓"[ok] + " " + goal for goal, ok in goals.items())]
    row(*cells)


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


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
    middle = statistics.median(took)
    time = f"{middle * 1000:.0f} ms, {middle / delay:.2f} round trips"
    row(f"{name}: 4 KiB, not read before", time, f"{statistics.median(asked):.0f}", max(asked))


def long_list(folder):
    ls = ["ls", "-l", folder]
    return timed(lambda: subprocess.run(ls, stdout=subprocess.DEVNULL, check=True))


def lists(args, store):
    """`ls -l` of many arrays, beside that of a mount of the folder that is served."""
    with Daemon(args.bin, os.path.join(args.data, store + ".zarr"), ["--read-only"]) as d:
        local = long_list(d.dir)
    with Daemon(args.bin, f"s3://far/{store}.zarr") as d:
        before = d.status()["requests"]
        took = long_list(d.dir)
        asked = d.status()["requests"] - before
    what = f"`ls -l` of {ARRAYS} arrays, {store}"
    row(what, f"{took:.2f} s, of the folder {local:.2f} s", asked, "")


def opens_again(args):
    with Daemon(args.bin, "s3://far/W2.zarr") as d:
        path, took, asked = os.path.join(d.dir, "a.raw"), [], []
        for _ in range(5):
            before = d.status()["requests"]
            took.append(timed(lambda: os.close(os.open(path, os.O_RDONLY))) * 1000)
            asked.append(d.status()["requests"] - before)
    again = statistics.median(took[1:])
    row(
        "open, and again",
        f"{took[0]:.0f} ms, again {again:.0f} ms",
        asked[0],
        f"again {max(asked[1:])}",
    )


def disk_cache(args, name):
    with tempfile.TemporaryDirectory(prefix="zarrfs-cache-") as cache:
        flags = ("--cache-dir", cache)
        cold, came = ours(args, name, flags)
        with open(os.path.join(args.data, name + ".npy"), "rb") as plain:
            warm, more = ours(args, name, flags, plain)
    row(
        f"{name}: scan with --cache-dir, and again",
        f"{cold:.2f} s, again {warm:.2f} s",
        f"{came / 1e6:.1f} MB",
        f"again {more / 1e6:.4f} MB",
    )


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
        raise SystemExit("this runs at the near end of a link: make bench-remote")
    args.bin, args.data, args.servers = map(os.path.abspath, (args.bin, args.data, args.servers))
    args.peers = [x for x in args.peers.split(",") if x]
    names = args.names or ["W1", "W2", "W3", "W5", "W6"]
    for store in ("consolidated", "plain"):
        if not os.path.exists(os.path.join(args.data, store + ".zarr")):
            make_many(os.path.join(args.data, store + ".zarr"), store == "consolidated")
    mark(args.data)
    delay = statistics.median(timed(connect) for _ in range(5))
    print(f"round trip {delay * 1000:.1f} ms\n")
    peers = [f"{x} s (by zarrfs)" for x in args.peers]
    row("workload", "TLS", "link s", "zarrfs s (link by it)", *peers, "fetched / stored", "goals")
    row(*["---"] * (6 + len(peers)))
    for tls in args.tls.split(","):
        with Server(args.servers, os.path.dirname(args.data), tls == "on"):
            for name in names:
                scan(args, name, tls == "on")
    if args.small == "off":
        return
    print()
    row("what", "time", "requests", "at most")
    row(*["---"] * 4)
    with Server(args.servers, os.path.dirname(args.data), False):
        for name in names:
            random_reads(args, name, delay)
        for store in ("consolidated", "plain"):
            lists(args, store)
        opens_again(args)
        disk_cache(args, "W2")


if __name__ == "__main__":
    main()
