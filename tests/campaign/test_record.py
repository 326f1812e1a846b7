"""The journal: what is written is read, a cut line is done again, a damaged one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.findings.campaign import CampaignFacts, find_all, runs_missing
from hpcscope.programs.campaign.analysis import analyse
from hpcscope.programs.campaign.folder import head_of
from hpcscope.programs.campaign.record import CampaignJournal, read
from hpcscope.programs.campaign.study import made
from tests.campaign.records import record


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    journal = CampaignJournal(path)
    given = [record(number, {"wall_s": 1.5}, ranks=2, size=10, fast=True) for number in (1, 2)]
    for each in given:
        journal.add(each)
    assert read(path) == given == CampaignJournal(path).records


def test_a_cut_line_is_removed_before_the_next_is_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    CampaignJournal(path).add(record(1, {}))
    with path.open("a") as file:
        file.write('{"number": 2, "repe')
    assert [each.number for each in read(path)] == [1]
    again = CampaignJournal(path)
    again.add(record(2, {}))
    assert [each.number for each in read(path)] == [1, 2]


def test_lines_that_have_changed_places_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    journal = CampaignJournal(path)
    for number in (1, 2, 3):
        journal.add(record(number, {"wall_s": 1.0}))
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*others, first]))
    assert read(path) == journal.records


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    CampaignJournal(path).add(record(1, {"wall_s": 1.5}))
    path.write_text(path.read_text().replace('"wall_s":1.5', '"wall_s":1.7'))
    with pytest.raises(UsageError, match=r"runs\.jsonl:1: .* crc32 is \d+"):
        read(path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    CampaignJournal(path).add(record(1, {}))
    path.write_text(path.read_text() + '{"number": "two"}\n')
    with pytest.raises(UsageError, match=r"runs.jsonl:2: "):
        read(path)


def test_records_that_an_ended_campaign_lacks_are_counted() -> None:
    study = made({"program": "./app {size}", "parameters": {"size": [1, 2]}, "repetitions": 2}, "study.toml")
    head = head_of("campaign", study, ["scope"])
    records = [record(number, {}, size=1) for number in (1, 2, 3)]
    for status, codes in (("running", []), ("finished", ["runs-missing"])):
        ended = head.model_copy(update={"status": status})
        found = find_all(CampaignFacts(ended, analyse(ended, records)))
        assert [one.code for one in found if one.code == "runs-missing"] == codes
    assert not runs_missing.find(CampaignFacts(ended, analyse(ended, [*records, record(4, {}, size=2)])))
