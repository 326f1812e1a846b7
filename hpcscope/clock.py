"""The time of day within a process: steps of the system clock do not change durations."""

import time
from functools import cache


def unix_s() -> float:
    """Return the Unix time in seconds: as this process first read it, plus the time that has passed since."""
    began_unix_s, began_s = _began()
    return began_unix_s + time.monotonic() - began_s


def refusal() -> str:
    """Return what is wrong with the clock of this host: 64-bit counters of nanoseconds overflow in 2262."""
    if 1970 <= (year := time.gmtime().tm_year) < 2262:
        return ""
    return (
        f"the clock of this host: expected a year from 1970 to 2261, found {year}; set it (timedatectl set-time)"
    )


@cache
def _began() -> tuple[float, float]:
    return time.time(), time.monotonic()
