from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.topology.topology import Group, HostException, InsideHost, Topology, read, write
from tests.messages import mentions

GOOD = """
format = 1
origin = "emulated"

[host]
latency_s = 1e-06
bandwidth_bytes_per_s = 8e9

[[group]]
name = "lan"
level = "lan"
latency_s = 4.1e-05
bandwidth_bytes_per_s = 11.9e6

[[group]]
name = "hpc"
level = "cluster"
parent = "lan"
hosts = ["hpc1", "hpc2"]
latency_s = 4.1e-05
bandwidth_bytes_per_s = 11.9e6
uplink_bytes_per_s = 11.9e6

[[group]]
name = "giza"
level = "cluster"
parent = "lan"
hosts = ["giza1", "giza3"]
medium = "shared"
latency_s = 4.1e-05
bandwidth_bytes_per_s = 2.4e6
uplink_bytes_per_s = 1e6
uplink_duplex = "half"
confidence = 0.99

[[exception]]
host = "giza3"
bandwidth_bytes_per_s = 1.2e6
latency_s = 4e-05
"""


def from_text(folder: Path, text: str) -> Topology:
    file = folder / "topology.toml"
    file.write_text(text)
    return read(file)


def test_a_file_is_read_and_written_back(tmp_path: Path) -> None:
    topology = from_text(tmp_path, GOOD)
    assert topology.host == InsideHost(latency_s=1e-6, bandwidth_bytes_per_s=8e9)
    assert topology.root.name == "lan"
    assert topology.hosts == ["hpc1", "hpc2", "giza1", "giza3"]
    assert topology.members(topology.root) == topology.hosts
    assert topology.join("hpc1", "giza3") is topology.root
    assert topology.join("hpc1", "hpc2") is topology.by_name["hpc"]
    assert topology.by_name["giza"].uplink_duplex == "half"
    assert topology.exception == [HostException(host="giza3", bandwidth_bytes_per_s=1.2e6, latency_s=4e-5)]
    assert from_text(tmp_path, write(topology)) == topology


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('parent = "lan"', 'parent = "lon"', "group[1].parent = lon: ... lan, hpc, giza"),
        ('parent = "lan"\nhosts = ["hpc1"', 'hosts = ["hpc1"', "parent ... lan, hpc"),
        ('level = "lan"\nlatency', 'level = "lan"\nparent = "hpc"\nlatency', "parent ... none"),
        ('"giza1"', '"hpc1"', "group[1].hosts: hpc1"),
        ('"giza1"', '"giza3"', "group[2].hosts: giza3"),
        ('name = "giza"', 'name = "hpc"', "group[1].name = "),
        ('hosts = ["hpc1", "hpc2"]', "", "group[1].hosts = []: hpc"),
        ('name = "lan"', 'name = "lan"\nhosts = ["x"]', 'group[0].hosts = ["x"]: lan'),
        ("2.4e6", "0", "group[2].bandwidth_bytes_per_s = 0: ... 0"),
        ("2.4e6", "-1.5", "group[2].bandwidth_bytes_per_s = -1.5: ... 0"),
        ("2.4e6", "inf", "group[2].bandwidth_bytes_per_s"),
        ("8e9", "nan", "host.bandwidth_bytes_per_s"),
        ('"shared"', '"hub"', 'group[2].medium = "hub": ... \'switched\', \'shared\''),
        ("confidence = 0.99", "confidence = 1.5", "group[2].confidence = 1.5"),
        ("confidence", "sureness", "group[2].sureness = 0.99: ... name, level, parent"),
        ("format = 1", "format = 2", "format = 2: "),
        ("format = 1", "format = true", "format = true: "),
        ("format = 1", "shape = 1", "shape = 1: "),
        ('host = "giza3"', 'host = "giza9"', "exception[0].host = giza9: "),
        ("latency_s = 4e-05", "", "exception[0].latency_s: "),
        ("[host]", "[host", "not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(UsageError) as refused:
        from_text(tmp_path, GOOD.replace(old, new, 1))
    assert str(refused.value).startswith(f"{tmp_path / 'topology.toml'}: ")
    assert mentions(str(refused.value), words)
    assert "\n" not in str(refused.value)


def test_a_circle_of_groups_is_refused(tmp_path: Path) -> None:
    part = "latency_s = 1e-5\nbandwidth_bytes_per_s = 1e6\n"
    text = (
        'format = 1\norigin = "measured"\n'
        f'[[group]]\nname = "a"\nlevel = "lan"\nparent = "b"\n{part}'
        f'[[group]]\nname = "b"\nlevel = "lan"\nparent = "a"\n{part}'
        f'[[group]]\nname = "c"\nlevel = "cluster"\nhosts = ["x"]\n{part}'
    )
    with pytest.raises(UsageError, match=r"group\[0\].parent = b: .*\ba\b"):
        from_text(tmp_path, text)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml"):
        read(tmp_path / "nowhere.toml")


def test_unusual_values_alone_are_written(tmp_path: Path) -> None:
    group = Group(name="a", level="cluster", hosts=["x"], latency_s=1e-5, bandwidth_bytes_per_s=1e6)
    text = write(Topology(origin="measured", group=[group]))
    assert "medium" not in text
    assert "uplink" not in text
    assert "[host]" not in text
