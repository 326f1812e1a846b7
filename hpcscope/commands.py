"""Short commands of other programs, and their output."""

import subprocess
from collections.abc import Sequence
from typing import Any


def captured(words: Sequence[str], timeout_s: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return its exit code and all that it prints, as text.

    It has no input unless `input` or `stdin` is among the options of `subprocess.run`. Raises OSError if it
    does not start, TimeoutExpired if it does not end in time.
    """
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        words, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False, **options
    )
