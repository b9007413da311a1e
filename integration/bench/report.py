"""The benchmark's table: medians, ratios and whether each target is reached."""

MIB = 1 << 20

# Least ratio of the peer's time to ours, by operation, peer and workload ("" for all others).
TARGETS = {
    ("seq", "zarr"): {"": 1.5},
    ("seq", "tensorstore"): {"": 1.0, "W4": 0.7},
    ("seq", "zarrs"): {"W1": 0.8, "W2": 0.8, "W3": 1.0, "W4": 0.55, "W5": 1.0, "W6": 0.55},
    ("rand", "tensorstore"): {"": 1.0, "W1": 3.0, "W3": 3.0, "W6": 3.0},
    ("hot", "tensorstore"): {"": 2.0},
    ("hot", "zarr"): {"": 20.0},
    ("warm", "plain"): {"": 0.8},
}
MAX_AMPLIFICATION = {"seq": 1.05, "seq128": 1.05, "readers": 1.3}
MAX_ABOVE_IDLE = 64 * MIB  # beside the cache and the mapping of scratch
PEERS = ("plain", "tensorstore", "zarr", "zarrs")


class Row:
    """One workload and operation: the medians of all contestants."""

    def __init__(self, workload, op, nbytes, results):
        self.workload, self.op, self.nbytes, self.results = workload, op, nbytes, results
        self.ours = results["ours"]

    def ratio(self, peer):
        """The peer's time by ours: above 1 we are faster."""
        return self.results[peer]["wall"] / self.ours["wall"] if peer in self.results else None

    def amplification(self):
        """Decoded bytes by what one decode of the array would be, for whole reads; by the bytes
        served for others.
        """
        whole = self.op in ("seq", "seq128", "warm", "readers")
        return self.ours["decoded"] / (self.nbytes if whole else max(1, self.ours["served"]))

    def targets(self):
        """Each target of this row: what is asked, what is found, whether it is reached."""
        for peer in PEERS:
            goals = TARGETS.get((self.op, peer), {})
            goal, found = goals.get(self.workload, goals.get("")), self.ratio(peer)
            if goal is not None and found is not None:
                yield f"{peer} >= {goal:g}", f"{found:.2f}", found >= goal
        limit = MAX_AMPLIFICATION.get(self.op)
        if limit:
            yield (
                f"decoded <= {limit:g}",
                f"{self.amplification():.2f}",
                self.amplification() <= limit
            )
        above, room = (
            self.ours["peak"] - self.ours["idle"],
            self.ours["cache"] + self.ours["scratch"] + MAX_ABOVE_IDLE
        )
        yield f"memory <= {room // MIB} MiB", f"{above / MIB:.0f} MiB", above <= room

    def brief(self):
        missed = [f"{want}: {found}" for want, found, reached in self.targets() if not reached]
        times = ", ".join(f"{who} {r['wall']:.4f}" for who, r in self.results.items())
        return f"{self.workload} {self.op}: {times}" + (f"   MISSED {'; '.join(missed)}"
            if missed else "")

    def cells(self):
        yield self.workload
        yield self.op
        yield seconds(self.ours["wall"])
        for peer in PEERS:
            found = self.ratio(peer)
            yield "–" if found is None else f"{seconds(self.results[peer]['wall'])} ({found:.2f})"
        yield seconds(self.ours["daemon_cpu"])
        yield seconds(self.ours["cpu"])
        yield f"{self.ours['peak'] / MIB:.0f} ({self.ours['idle'] / MIB:.0f})"
        yield f"{self.amplification():.2f}"
        yield ", ".join(f"{'✓' if reached else '✗'} {want}" for want, _, reached in self.targets())


def seconds(value):
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def markdown(rows):
    """The table, and how many targets are reached."""
    head = ("workload", "op", "zarrfs s", "plain file s (ratio)", "tensorstore", "zarr-python 3",
        "zarr-python 3 + zarrs",
            "daemon CPU s", "reader CPU s", "peak MiB (idle)", "decoded / array", "targets")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    single = {r.workload: r.ours["daemon_cpu"] for r in rows if r.op == "seq"}
    for r in rows:
        if r.op == "readers" and r.workload in single:
            times = r.ours["daemon_cpu"] / max(single[r.workload], 1e-9)
            lines.append(f"\n{r.workload}: four readers took {times:.2f} times "
                         "the daemon's CPU of one, its copying to the kernel included.")
    checks = [(r, *t) for r in rows for t in r.targets()]
    missed = [f"{r.workload} {r.op} {want}: {found}"
        for r, want, found, reached in checks if not reached]
    lines.append(f"\nTargets reached: {len(checks) - len(missed)} of {len(checks)}." +
                 (" Missed: " + "; ".join(missed) + "." if missed else ""))
    return "\n".join(lines)
