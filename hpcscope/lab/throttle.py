"""Slows a host down: stops its processes for a fraction of the time; run by path inside a lab.

`throttle.py PID SHARE`: the processes in the network namespace of PID are stopped for SHARE of every 20 ms. With
SHARE 1 they stay stopped until this program ends and continues them all.
"""

import os
import signal
import sys
import time
from pathlib import Path

PERIOD_S = 0.02


def members(holder: int) -> list[int]:
    """Return the processes of the host that `holder` holds, except `holder`.

    Processes that entered from outside are left alone: their `nsenter` stops with them and would not continue.
    """
    home = Path(f"/proc/{holder}/ns/net").readlink()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in (holder, os.getpid()):
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if parent != "0" and (entry / "ns/net").readlink() == home:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def signal_all(holder: int, what: signal.Signals) -> None:
    """Send a signal to all processes of the host."""
    for pid in members(holder):
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            continue


def main() -> None:
    """Stop and continue processes until asked to end."""
    holder, share = int(sys.argv[1]), float(sys.argv[2])
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    print("ready", flush=True)
    while not ended:
        signal_all(holder, signal.SIGSTOP)
        time.sleep(PERIOD_S * share)
        if share < 1:
            signal_all(holder, signal.SIGCONT)
            time.sleep(PERIOD_S * (1 - share))
    signal_all(holder, signal.SIGCONT)


if __name__ == "__main__":
    main()
