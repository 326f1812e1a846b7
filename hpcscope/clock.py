"""The time of day as one process has it: steps of the system's clock change no duration."""

import time
from functools import cache


def unix_s() -> float:
    """Return the time in s since 1970 began: as this process read it first, and what has passed since."""
    began_unix_s, began_s = _began()
    return began_unix_s + time.monotonic() - began_s


def refusal() -> str:
    """Return what is wrong with the clock of this host: what counts nanoseconds in 64 bits ends in 2262."""
    if 1970 <= (year := time.gmtime().tm_year) < 2262:
        return ""
    return (
        f"the clock of this host: expected a year from 1970 to 2261, found {year}; set it (timedatectl set-time)"
    )


@cache
def _began() -> tuple[float, float]:
    return time.time(), time.monotonic()
