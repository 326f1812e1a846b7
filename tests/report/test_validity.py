"""Marks of intervals that hold for less than further launches."""

from __future__ import annotations

import numpy as np

from hpcscope.report.figure import shown
from hpcscope.report.validity import footnotes, of_most
from hpcscope.statistics.summary import Summary
from tests.models.curves import noisy, summary


def of(launches: int, dependent: bool = False) -> Summary:
    made = summary(noisy(np.random.default_rng(1), 1e-6, launches), message_bytes=8)
    return made.model_copy(update={"launches_dependent": dependent})


def test_six_independent_launches_speak_of_others() -> None:
    one = of(6)
    assert (one.holds_for, footnotes([one]), of_most([one])) == ("further launches", [], "")
    assert shown(one).endswith("]")


def test_fewer_launches_speak_of_themselves() -> None:
    one = of(3)
    assert one.holds_for == "these launches"
    assert shown(one).endswith("] +")
    assert [note[0] for note in footnotes([one, of(6)])] == ["+"]
    assert "six launches" in of_most([one, one, of(6)])
    assert of_most([one, of(6)]) == ""


def test_launches_that_were_alike_speak_of_these_minutes() -> None:
    one = of(6, dependent=True)
    assert one.holds_for == "these minutes"
    assert shown(one).endswith("] *")
    assert [note[0] for note in footnotes([one, of(3)])] == ["+", "*"]
    assert "these minutes" in of_most([one])


def test_without_an_interval_there_is_nothing_to_mark() -> None:
    one = of(6).model_copy(update={"interval_basis": "none"})
    assert (one.holds_for, footnotes([one])) == ("no interval", [])
