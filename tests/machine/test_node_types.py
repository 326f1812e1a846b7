"""Which hosts are of one type."""

from __future__ import annotations

import pytest

from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import Host
from hpcscope.machine.node_types import node_types


@pytest.fixture(scope="module")
def host() -> Host:
    return this_host()


def changed(host: Host, memory: float = 1.0, **processor: object) -> Host:
    update = {"memory_bytes": int(host.memory_bytes * memory)}
    return host.model_copy(update={**update, "processor": host.processor.model_copy(update=processor)})


def test_equal_hosts_are_one_type(host: Host) -> None:
    assert node_types([host, changed(host, memory=0.98), changed(host, memory=1.02)]) == [[0, 1, 2]]


def test_other_processors_memory_or_affinity_make_another_type(host: Host) -> None:
    other = [
        changed(host, model="another"),
        changed(host, memory=2.0),
        changed(host, usable=[*host.processor.usable, 999]),
    ]
    assert node_types([host, *other, host]) == [[0, 4], [1], [2], [3]]
