"""The first process of a lab: when it ends, the kernel ends everything inside.

It is process 1 of its process namespace. Run by path, with the standard library only:
`unshare --mount --net --pid --fork --kill-child python holder.py HOSTS_FILE HOST...`.
Its first output line has its own process number outside the lab and the hosts' numbers inside. Until it reads
`stay`, it ends with its standard input: a lab never outlives a process that is still building it or uses it once.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

SILENCE = """
for which in all default; do
  switch=/proc/sys/net/ipv6/conf/$which/disable_ipv6
  if [ -w $switch ]; then echo 1 > $switch; fi
done
"""
"""No IPv6 solicitations: links carry only the traffic of programs."""
HOST = f"""{SILENCE}
hostname "$0" && mount --bind "$1" /etc/hosts && mount -t tmpfs tmpfs /dev/shm && echo ready && exec sleep infinity
"""


def main() -> None:
    """Make the hosts, print their process numbers, and wait."""
    outside = int(Path("/proc/self").readlink().name)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    subprocess.run(["sh", "-c", f"{SILENCE}ip link set lo up"], check=True)
    hosts_file, *names = sys.argv[1:]
    spaces = ["unshare", "--net", "--uts", "--mount", "--propagation", "private"]
    hosts = {
        name: subprocess.Popen(
            [*spaces, "sh", "-c", HOST, name, hosts_file], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        for name in names
    }
    for name, host in hosts.items():
        if host.stdout is None or host.stdout.readline() != b"ready\n":
            sys.exit(f"host {name} cannot be created")
    # Orphans of the lab become children of this process; the kernel then reaps them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print(json.dumps({"holder": outside, "hosts": {name: host.pid for name, host in hosts.items()}}), flush=True)
    if sys.stdin.readline() == "stay\n":
        while True:
            signal.pause()


if __name__ == "__main__":
    main()
