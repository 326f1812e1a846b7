from __future__ import annotations

import re
from pathlib import Path

from hpcscope.report.topology import page as topology_page
from hpcscope.topology import drawing
from tests.cli.scope_command import answered, scope
from tests.topology.test_topology_file import GOOD, from_text


def test_the_tree_is_drawn(tmp_path: Path) -> None:
    lines = drawing.text(from_text(tmp_path, GOOD), ascii_only=True).splitlines()
    assert lines[0].startswith("lan: local join, 11.9 MB/s, 41.0 µs")
    assert lines[1].startswith("|-- hpc: switch, 11.9 MB/s")
    assert lines[2] == "|   `-- hpc1-2"
    assert lines[3].startswith("`-- giza: bus, 2.40 MB/s shared")
    assert "uplink 1.00 MB/s, both directions together" in lines[3]
    assert "confidence 99 %" in lines[3]
    assert lines[4] == "    `-- giza1, giza3"
    assert lines[5].startswith("exception: giza3 of giza: 1.20 MB/s")
    assert lines[-1] == "origin: emulated"


def test_hosts_are_listed_shortly() -> None:
    assert drawing.ranges(["n1", "n2", "n3", "n5", "x", "n07", "n08", "a.b"]) == "n1-3, n5, x, n07, n08, a.b"


def test_the_page_holds_every_group_and_host_and_asks_for_nothing(tmp_path: Path) -> None:
    page = topology_page.render(from_text(tmp_path, GOOD.replace('"hpc1"', '"hpc<1>"')), "topology.toml")
    for word in ("lan", "hpc", "giza", "hpc&lt;1&gt;", "giza3", "half duplex", "emulated"):
        assert word in page
    assert '<td class="prose">giza1, giza3</td>' in page
    assert "hpc<1>" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_boxes_lie_inside_each_other(tmp_path: Path) -> None:
    page = topology_page.render(from_text(tmp_path, GOOD), "topology.toml")
    boxes = [
        tuple(map(int, found))
        for found in re.findall(r'class="box[^"]*" x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', page)
    ]
    assert len(boxes) == 3
    x, y, width, height = boxes[0]
    for left, top, wide, high in boxes[1:]:
        assert x < left < left + wide < x + width
        assert y < top < top + high < y + height
    (_, _, _, _), (a, _, wide, _), (b, _, _, _) = boxes
    assert a + wide < b


def test_only_numbers_that_a_person_counts_are_ranges() -> None:
    long = "9" * 5000
    assert drawing.ranges(["a1", "a2", "a02", "a3", f"a{long}", "b"]) == f"a1-2, a02, a3, a{long}, b"


def test_the_command_draws_and_refuses(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(GOOD)
    answer = scope(tmp_path, "topology", "show", "topology.toml")
    assert answer.code == 0
    assert "hpc1-2" in answer.output
    assert answered(tmp_path, "topology", "show", "topology.toml", "--html", "page.html").code == 0
    assert "<svg" in (tmp_path / "page.html").read_text()
    (tmp_path / "broken.toml").write_text(GOOD.replace('"hpc2"', '"giza1"'))
    refused = answered(tmp_path, "topology", "show", "broken.toml").refusal()
    assert "broken.toml: group[1].hosts: giza1" in refused
    alone = answered(tmp_path, "topology", "discover", "--mpi", "embedded").refusal()
    assert "--hosts a,b" in alone
