"""A zarrfs daemon under measurement: fresh, in the foreground, always unmounted."""

import json
import os
import re
import subprocess
import tempfile
import time


class Daemon:
    """with Daemon(binary, store, flags) as d: d.dir is the mount."""

    def __init__(self, binary, store, flags=()):
        self.binary, self.store, self.flags = binary, store, list(flags)

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="zarrfs-bench-")
        beneath = os.stat(self.dir).st_dev
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [self.binary, "mount", "--foreground", *self.flags, self.store, self.dir],
            stdout=self.log, stderr=self.log)
        for _ in range(2000):
            if os.stat(self.dir).st_dev != beneath:
                break  # answered by the daemon, which has not listed anything yet
            if self.process.poll() is not None:
                self.log.seek(0)
                os.rmdir(self.dir)
                raise SystemExit(f"zarrfs mount {self.store} ended:\n{self.log.read()}")
            time.sleep(0.005)
        self.idle = self.memory()["VmRSS"]
        self.cpu0 = self.cpu()
        return self

    def __exit__(self, *_):
        subprocess.run([self.binary, "umount", self.dir], stdout=self.log, stderr=self.log)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            subprocess.run(["fusermount3", "-u", "-z", self.dir])
            self.process.kill()
            self.process.wait()
        if not os.path.ismount(self.dir):
            os.rmdir(self.dir)
        self.log.close()

    def memory(self):
        """Bytes by name, as /proc has them: VmHWM is the peak, VmRSS now."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return {k: int(v) * 1024 for k, v in re.findall(r"^(\w+):\s+(\d+) kB$", f.read(), re.M)}

    def cpu(self):
        """CPU seconds of all threads, to the nanosecond where the kernel tells."""
        total = 0
        task = f"/proc/{self.process.pid}/task"
        try:
            for thread in os.listdir(task):
                with open(f"{task}/{thread}/schedstat") as f:
                    total += int(f.read().split()[0])
            return total / 1e9
        except OSError:
            with open(f"/proc/{self.process.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self):
        """What .zarrfs/status.json says, flattened: the members of its objects by their own names.
        """
        with open(os.path.join(self.dir, ".zarrfs", "status.json")) as f:
            return flatten(json.load(f))


def flatten(document):
    out = {}
    for key, value in document.items():
        if isinstance(value, dict):
            for k, v in flatten(value).items():
                out.setdefault(k, v)
        else:
            out[key] = value
    return out
