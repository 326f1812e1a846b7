"""The program that exchanges active messages, built once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.active_messages.two_hosts import TwoHosts, exchange_program, two_hosts


@pytest.fixture(scope="session")
def program() -> Path:
    """The program; it shares its objects with the provider."""
    return exchange_program()


@pytest.fixture(scope="module")
def hosts(program: Path) -> Iterator[TwoHosts]:
    needs_root()
    with two_hosts(program) as made:
        yield made


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces with raw sockets need root")
