"""The minimum configuration: what is lacking is named, and only that."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import Host, Link
from hpcscope.machine.minimum_configuration import lacks

GB = 10**9


here = cache(this_host)


def host(memory_bytes: int = 8 * GB, *rates: float | None) -> Host:
    links = [link(rate) for rate in rates]
    return here().model_copy(update={"memory_bytes": memory_bytes, "links": links})


def link(rate: float | None) -> Link:
    given: dict[str, Any] = {"name": "eth", "kind": "ethernet", "mtu_bytes": 1500, "addresses": [], "driver": ""}
    return Link(**given, rate_bits_per_s=rate, up=True)


@pytest.mark.parametrize(
    ("hosts", "slots", "words"),
    [
        ([host(), host()], 4, []),
        ([host(8 * GB, 1e9), host(8 * GB, None)], 64, []),
        ([host()], 2, ["1 of 2 hosts", "2 of 4 slots"]),
        ([host()], 64, ["1 of 2 hosts"]),
        ([host(1 * GB), host()], 4, ["1 GB of 2 GB memory"]),
        ([host(8 * GB, 1e6, 2e6), host(8 * GB, 1e9)], 4, ["2.00 Mbit/s of 10.0 Mbit/s network"]),
    ],
)
def test_what_is_lacking_is_named(hosts: list[Host], slots: int, words: list[str]) -> None:
    assert [lack.words for lack in lacks(hosts, slots)] == words
