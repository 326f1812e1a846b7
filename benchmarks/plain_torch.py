"""What everybody writes with PyTorch: copies and products of matrices, timed by events of the device.

usage: plain_torch.py LOOPS NAME SIZE [NAME SIZE...]
NAME is `copy` of SIZE bytes, or the precision of a product of order SIZE.
Prints a line for each name: the seconds of each loop, without the first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

FORMATS = {"double": torch.float64, "tf32": torch.float32, "half": torch.float16}


def operation(name: str, size: int) -> Callable[[], Any]:
    """Return what is timed."""
    if name == "copy":
        a, c = (torch.ones(size // 8, dtype=torch.float64, device="cuda") for _ in "ac")
        return partial(c.copy_, a)
    a, b, c = (torch.randint(-8, 9, (size, size), device="cuda").to(FORMATS[name]) for _ in "abc")
    return partial(torch.matmul, a, b, out=c)


def timed_s(work: Callable[[], Any]) -> float:
    """Seconds by the device's clock; the same work before it keeps the device busy while the host enqueues."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
    work()
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) * 1e-3


def main(loops: int, *words: str) -> None:
    """Time each in turn."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for name, size in zip(words[::2], words[1::2], strict=True):
        work = operation(name, int(size))
        times = [timed_s(work) for _ in range(loops + 1)][1:]
        print(name, *(f"{time_s:.9e}" for time_s in times))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
