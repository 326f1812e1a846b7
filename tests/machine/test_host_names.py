"""Hosts by the names that records have for them."""

from __future__ import annotations

import random

import pytest

from hpcscope.machine.host_names import HostNames


@pytest.mark.parametrize(
    ("names", "called", "found"),
    [
        (["n1.a.x", "n1.b.x"], "n1.b.x", "n1.b.x"),
        (["n1.a.x", "n1.b.x"], "n1", None),
        (["n1.a.x", "n1.b.x"], "n1.a", "n1.a.x"),
        (["n1.a.x", "n2.a.x"], "n1", "n1.a.x"),
        (["n1", "n2"], "n1.a.x", "n1"),
        (["n1.a.x"], "n1.b.x", None),
        (["n1", "n1.a"], "n1", "n1"),
        (["10.0.0.1", "10.0.0.2"], "10", None),
        (["n1"], "n", None),
        ([], "n1", None),
    ],
)
def test_a_host_is_found_where_its_name_is_that_of_one_host(
    names: list[str], called: str, found: str | None
) -> None:
    assert HostNames(names).find(called) == found


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["n1.a.x", "n2.a.x"], ["n1", "n2"]),
        (["n1.a.x", "n1.b.x", "n2.b.x"], ["n1.a.x", "n1.b.x", "n2"]),
        (["n1", "n1.a.x"], ["n1", "n1.a.x"]),
        (["10.0.0.1", "10.0.0.2", "fe80::1"], ["10.0.0.1", "10.0.0.2", "fe80::1"]),
    ],
)
def test_people_see_a_short_name_where_it_is_unique(names: list[str], short: list[str]) -> None:
    assert [HostNames(names).short(name) for name in names] == short


def test_different_hosts_never_get_one_name() -> None:
    chance = random.Random(20261128)
    for _ in range(300):
        labels = [".".join(chance.choices("ab1", k=chance.randrange(1, 4))) for _ in range(8)]
        names = HostNames(labels)
        assert all(names.find(one) == one for one in labels)
        assert len({names.short(one) for one in set(labels)}) == len(set(labels))
        assert all(names.find(names.short(one)) == one for one in labels)
