"""A platform's XML: what messages inside a host share."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hpcscope.simulation.description import FACTORS, write
from hpcscope.simulation.platform import Exchange, Platform, PlatformFigure, PlatformNode
from hpcscope.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("factors", "memory"),
    # A rate of a million times the measured one stands for bytes that take no time: nothing can share that.
    [("0:1", 4e9), ("0:1e+06;24:1.5;1040:1", 6e9), ("0:1e+06", 4e9)],
)
def test_messages_inside_a_host_share_its_memory_by_cores(factors: str, memory: float) -> None:
    inside = Exchange(
        PlatformFigure(Estimate(value=1e-6), "", "s"), PlatformFigure(Estimate(value=1e9), "", "B/s")
    )
    node = PlatformNode("here", 4, PlatformFigure(Estimate(value=1e9), "", "flop/s"))
    text = write(Platform("measured", [node], inside, None, None), [], FACTORS | {"smpi/bw-factor": factors})
    root = ElementTree.fromstring(text)
    links = {one.get("id"): one for one in root.iter("link")}
    assert [one.get("id") for one in root.iter("link_ctn")] == ["here_inside", "here_memory"]
    assert links["here_inside"].get("sharing_policy") == "FATPIPE"
    assert links["here_memory"].get("sharing_policy") == "SHARED"
    assert float((links["here_memory"].get("bandwidth") or "").removesuffix("Bps")) == memory
