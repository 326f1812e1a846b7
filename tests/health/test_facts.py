"""Facts in which nodes differ: the odd ones are named, and no majority is invented."""

from __future__ import annotations

from hpcscope.health.facts import NOT_SHOWN, differences, groups

HARDWARE = {"architecture": "x86_64", "processor": "P", "sockets": "2", "cores": "64"}


def fleet(nodes: int, **facts: str) -> dict[str, dict[str, str]]:
    return {f"n{number}": {**HARDWARE, **facts} for number in range(1, nodes + 1)}


def test_equal_nodes_do_not_differ() -> None:
    assert differences(fleet(8, governor="performance", kernel="6.1")) == []


def test_the_odd_ones_are_named() -> None:
    known = fleet(128, governor="performance")
    for host in ("n17", "n20", "n44"):
        known[host]["governor"] = "powersave"
    (difference,) = differences(known)
    assert (difference.fact, difference.usual, difference.nodes) == ("governor", "performance", 128)
    assert difference.odd == {"powersave": ("n17", "n20", "n44")}
    assert difference.matters


def test_a_fact_that_one_node_does_not_show_differs() -> None:
    known = fleet(5, kernel="6.1")
    del known["n2"]["kernel"]
    (difference,) = differences(known)
    assert difference.odd == {NOT_SHOWN: ("n2",)}
    assert not difference.matters


def test_halves_have_no_usual_value() -> None:
    known = fleet(6, **{"interface eth0 MTU": "9000"})
    for host in ("n1", "n2", "n3"):
        known[host]["interface eth0 MTU"] = "1500"
    (difference,) = differences(known)
    assert difference.usual is None
    assert set(difference.odd) == {"1500", "9000"}


def test_other_hardware_is_no_difference_but_a_missing_module_is() -> None:
    known = fleet(6, memory="257000 MiB")
    known["n1"] = {**HARDWARE, "processor": "Q", "memory": "64000 MiB"}
    known["n3"]["memory"] = "256000 MiB"
    assert len(groups(known)) == 2
    assert differences(known) == []
    known["n5"]["memory"] = "240000 MiB"
    (difference,) = differences(known)
    assert difference.odd == {"240000 MiB": ("n5",)}


def test_a_node_that_lost_cores_is_odd_and_another_kind_of_node_is_not() -> None:
    known = fleet(20)
    known["n3"]["cores"] = "60"
    (difference,) = differences(known)
    assert (difference.fact, difference.usual, difference.odd) == ("cores", "64", {"60": ("n3",)})
    assert difference.matters
    for host in ("n5", "n6", "n7", "n8"):
        known[host]["cores"] = "60"
    assert differences(known) == []
