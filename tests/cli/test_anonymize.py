"""`scope anonymize`: what names a host, a person, a place or a project is not in the copy, and all figures are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.archive.anonymize import StandIns, anonymized
from hpcscope.cli import answer
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run, derived
from hpcscope.rundirectory import read_json
from tests.cli.scope_command import scope

HOST = "pluto17.uni-example.de"
SECRETS = (
    *("pluto", "uni-example", "adelheid", "lovelace", "zephyr", "10.1.2.3", "10-1-2-3", "0a010203", "fe80::1234"),
    *("4711815", "0c:42:a1", "0c-42-a1", "0c42.a100", "269d1f3f", "0123456789abcdef", "9f86d081", "00:00:11:22"),
)
FORMS = """
pluto17.uni-example.de
PLUTO17.UNI-EXAMPLE.DE
pluto17 PLUTO17 pluto17-ib0 pluto17.mpi pluto17:2 pluto[01-04,17] pluto17_eth0 pluto18
uni-example.de pluto17,pluto18 slots@pluto17 [pluto17] ssh://pluto17:22 pluto17(2)
adelheid adelheid@pluto17 adelheid.lovelace@uni-example.de ~adelheid ~adelheid/x uid(adelheid)
USER=adelheid Adelheid Lovelace
/users/adelheid/zephyr /users/adelheid/cache dir/zephyr -I/users/adelheid/include -L/opt/zephyr/lib
file:///users/adelheid/x /usr/local/zephyr/bin /run/user/4711815/x zephyr/run ../zephyr ./adelheid/run
LD_LIBRARY_PATH=/users/adelheid/lib:/opt/zephyr "/users/adelheid" '/opt/zephyr'
(/users/adelheid) //nas-zephyr/share
/scratch/zephyr-2/in.dat project=zephyr zephyr_2 zephyr2
10.1.2.3 10.1.2.3:1234 tcp://10.1.2.3:1234 10.1.2.3/24 ::ffff:10.1.2.3 0x0a010203 ip-10-1-2-3.internal
fe80::1234 fe80::1234%eth0 [fe80::1234]:80 inet6 fe80::1234/64
0c:42:a1:00:11:22 0C:42:A1:00:11:22 0c-42-a1-00-11-22 0c42.a100.1122
0c:42:a1:03:00:00:11:22 00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:00:11:22
269d1f3f-2c59-4555-91e4-21c57e9e8c81 269D1F3F-2C59-4555-91E4-21C57E9E8C81
0123456789abcdef0123456789abcdef 9f86d081884c7d65 serial S4711815 job 4711815 job.4711815.zephyr
""".strip().splitlines()
PLACES = ["command", "name", "reason", "environment", "library", "kernel", "compiler"]


def telling(run: Path, place: str, form: str) -> None:
    """Let one text of a run name something."""
    texts = {"command": ("run.json", ["command"]), "name": ("run.json", ["name"])}
    texts |= {"kernel": ("machine.json", ["hosts", 0, "kernel"]), "environment": ("machine.json", ["environment"])}
    texts |= {"compiler": ("machine.json", ["build", "compiler"])}
    if place in texts:
        name, path = texts[place]
        document = json.loads((run / name).read_text())
        *above, last = path
        inner: Any = document
        for key in above:
            inner = inner[key]
        values: dict[str, Any] = {"command": ["scope", "run", form]}
        values |= {"environment": {"OMPI_MCA_x": form, "SITE": form}}
        inner[last] = values.get(place, f"text {form} text")
        (run / name).write_text(json.dumps(document))
        return
    lines = []
    for line in (run / "samples.jsonl").read_text().splitlines():
        record = json.loads(line)
        record.pop("crc32", None)
        if place in record:
            record[place] = f"text {form} text"
        lines.append(json.dumps(record))
    (run / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def named(golden_copy: Path) -> Path:
    """A run on a host with a name, with traces of its owner in files of their own."""
    (golden_copy / "checksums.sha256").unlink(missing_ok=True)
    for file in golden_copy.rglob("*"):
        if file.suffix in (".json", ".jsonl"):
            file.write_text(file.read_text().replace('"node1"', f'"{HOST}"'))
    launch = golden_copy / "launches" / "0001-1"
    launch.mkdir(parents=True, exist_ok=True)
    (launch / "stderr.txt").write_text("pluto17: cannot open /users/adelheid/zephyr/x\n")
    (golden_copy / "zephyr.txt").write_text("adelheid")
    return golden_copy


JOINED = pytest.mark.slow(
    "every form again behind an equals sign; there, behind a space, and mixed forms elsewhere"
)


@pytest.mark.parametrize("between", [" ", pytest.param("=", marks=JOINED)])
def test_no_form_of_a_name_is_left_in_any_place(between: str, named: Path, tmp_path: Path) -> None:
    for place in PLACES:
        telling(named, place, between.join(FORMS))
    with anonymized(named, tmp_path / "copy") as copy:
        for file in copy.folder.rglob("*"):
            text = f"{file.relative_to(copy.folder)} {file.read_text()}".lower()
            assert [secret for secret in SECRETS if secret in text] == [], file
    assert list(tmp_path.glob(".anonymizing-*")) == []


def test_what_is_left_is_shown_before_the_copy_is_written(
    named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["anonymize", str(named), str(tmp_path / "copy")]
    refused = scope(tmp_path, *words)
    assert (refused.code, "--yes" in refused.errors) == (2, True)
    assert "processors" in refused.output
    assert "launches, zephyr.txt" in refused.output
    assert not (tmp_path / "copy").exists()
    done = scope(tmp_path, *words, "--yes")
    assert done.code == 0
    assert answer(["show", str(tmp_path / "copy")]) == 0
    assert answer(["report", str(tmp_path / "copy")]) == 0


def test_equal_names_stay_equal_and_figures_stay(named: Path, tmp_path: Path) -> None:
    telling(named, "command", "PLUTO17:2")
    with anonymized(named, tmp_path / "kept") as copy:
        copy.keep(tmp_path / "copy")
        assert copy.stand_ins[HOST] == copy.stand_ins["pluto17"] == "host1"
    before, after = Run(named), Run(tmp_path / "copy")
    assert after.record.command == ["scope", "run", "host1:2"]
    for one, other in zip(before.raw_samples.cases, after.raw_samples.cases, strict=True):
        for ours, theirs in zip(one.times, other.times, strict=True):
            assert ours.elapsed_s.tolist() == theirs.elapsed_s.tolist()
    assert [one.case for one in after.raw_samples.cases] == [one.case for one in before.raw_samples.cases]
    assert len(after.statistics) == len(derived(named).statistics)


def test_the_copy_has_checksums_of_its_own(named: Path, tmp_path: Path) -> None:
    with anonymized(named, tmp_path / "kept") as copy:
        copy.keep(tmp_path / "copy")
    machine = tmp_path / "copy" / "machine.json"
    machine.write_text(machine.read_text().replace("host1", "host2"))
    with pytest.raises(UsageError, match=r"machine\.json: .*checksums\.sha256"):
        read_json(machine, dict)


def test_nothing_is_overwritten(named: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    assert answer(["anonymize", str(named), str(tmp_path / "copy"), "--yes"]) == 2
    assert list((tmp_path / "copy").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("node1.mpi on NODE1", "host1.mpi on host1"),
        ("at 12:30:45, 1.2.3, v4.1.4, 65534", "at 12:30:45, 1.2.3, v4.1.4, word1"),
        ("127.0.0.1 and ::1", "127.0.0.1 and ::1"),
        ("/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
        ("scope run mpi.latency message_bytes=1048576", "scope run mpi.latency message_bytes=1048576"),
        ("zephyr zephyr Zephyr", "word1 word1 word1"),
    ],
)
def test_stand_ins(text: str, wanted: str) -> None:
    assert StandIns({"node1": "host1"}).applied(text) == wanted
