"""The verdict of each node from a record: each fault is named on its host, and on no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from hpcscope.engine import health as engine
from hpcscope.errors import UsageError
from hpcscope.health import history
from hpcscope.health.records import HealthFile, Visit
from hpcscope.health.verdict import BAD, HEALTHY, SILENT, SUSPECT, Health, judge, references
from hpcscope.report.health import render, write
from hpcscope.report.node import pages
from hpcscope.report.terminal import health as terminal
from tests.health.recorded_fleet import FACTS, on, record, slower
from tests.health.simulated_links import own_link, played


def verdicts(health: Health) -> dict[str, str]:
    """The nodes that are not healthy."""
    return {node.host: node.verdict for node in health.nodes if node.verdict != HEALTHY}


def evidence(health: Health, host: str) -> str:
    (node,) = [node for node in health.nodes if node.host == host]
    return node.evidence[0].text


def shown(made: HealthFile) -> str:
    lines = terminal.lines(made, judge(made))
    assert all(len(line) <= terminal.COLUMNS for line in lines), lines
    return "\n".join(lines)


def test_healthy_nodes() -> None:
    health = judge(record())
    assert verdicts(health) == {}
    assert health.sound
    assert shown(record()).startswith("All 12 nodes are healthy.")


def test_few_nodes_without_a_fault_are_not_called_healthy() -> None:
    made = record(4)
    assert shown(made).startswith("All 4 nodes show no fault; they are too few to compare with each other.")
    assert "4 nodes are too few peers" in render(made, judge(made), {})


def test_slow_nodes_are_bad() -> None:
    made = record(change=slower(1.5, "memory_bandwidth", {"n3", "n7"}))
    health = judge(made)
    assert verdicts(health) == {"n3": BAD, "n7": BAD}
    assert "memory bandwidth" in evidence(health, "n3")
    assert " GB/s, peers 20" in evidence(health, "n3")
    assert not health.sound
    assert shown(made).startswith("10 of 12 nodes are healthy; 2 bad.")


def test_the_reason_of_a_verdict_is_printed_whole() -> None:
    made = record()
    paired = played(1, made.hosts, own_link(["n3"], 0.5), 0.02).record.links
    made = made.model_copy(update={"links": paired})
    health = engine.judged(made, history.pasts([], made))
    whole = evidence(health, "n3")
    assert len(whole) > terminal.COLUMNS - 15, "longer than its line"
    lines = terminal.lines(made, health)
    assert all(len(line) <= terminal.COLUMNS for line in lines), lines
    assert whole in " ".join(" ".join(lines).split())


def test_a_node_that_is_slow_in_the_first_stage_only_is_healthy() -> None:
    assert verdicts(judge(record(change=slower(1.5, "arithmetic", {"n3"}, (1,))))) == {}


def test_a_node_that_was_not_measured_again_is_suspect() -> None:
    assert verdicts(judge(record(change=slower(1.5, "arithmetic", {"n3"}), stages=(1,)))) == {"n3": SUSPECT}


def test_half_a_cluster_is_suspect_and_bad_beside_a_reference() -> None:
    half = {f"n{number}" for number in range(1, 7)}
    made = record(change=slower(1.5, "arithmetic", half))
    health = judge(made)
    assert verdicts(health) == dict.fromkeys(half, SUSPECT)
    assert "two clusters of values; 6 of 12 nodes" in health.remarks[0]
    assert verdicts(judge(made, references(record()))) == dict.fromkeys(half, BAD)
    assert "two clusters" in shown(made)


def test_all_slow_is_seen_beside_a_reference_only() -> None:
    everyone = {f"n{number}" for number in range(1, 13)}
    made = record(change=slower(1.5, "arithmetic", everyone))
    assert verdicts(judge(made)) == {}
    assert verdicts(judge(made, references(record()))) == dict.fromkeys(everyone, BAD)
    assert verdicts(judge(record(), references(record()))) == {}


def test_a_dead_host_costs_itself_alone() -> None:
    dead = on("n5", error="no answer within 40 s", values=[], facts={}, before={}, after={})
    health = judge(record(change=dead))
    assert verdicts(health) == {"n5": SILENT}
    assert evidence(health, "n5") == "no answer within 40 s"
    assert not health.sound


def test_a_host_that_hangs_in_the_middle_gives_no_answer_and_one_that_came_back_is_suspect() -> None:
    def silent(visit: Visit) -> Visit:
        return visit.model_copy(update={"error": "no answer within 40 s", "values": []})

    def ends(visit: Visit) -> Visit:
        return silent(visit) if visit.host == "n5" and visit.started_unix_s > 1e9 + 200 else visit

    def pauses(visit: Visit) -> Visit:
        return silent(visit) if visit.host == "n5" and visit.started_unix_s == 1e9 + 103 else visit

    assert verdicts(judge(record(change=ends))) == {"n5": SILENT}
    assert verdicts(judge(record(change=pauses))) == {"n5": SUSPECT}


def test_pauses_of_most_hosts_are_a_remark_on_all_and_accuse_none() -> None:
    def pauses(hosts: set[str]) -> Health:
        def change(visit: Visit) -> Visit:
            lost = visit.host in hosts and visit.started_unix_s < 1e9 + 150
            return visit.model_copy(update={"error": "no answer within 40 s", "values": []}) if lost else visit

        return judge(record(change=change))

    most, few = {f"n{number}" for number in range(1, 8)}, {"n1", "n2"}
    assert verdicts(pauses(most)) == {}
    assert "7 of 12 nodes" in pauses(most).remarks[0]
    assert verdicts(pauses(few)) == dict.fromkeys(few, SUSPECT)
    assert pauses(few).remarks == []


@pytest.mark.parametrize(
    ("counters", "verdict", "words"),
    [
        ({"interface eth0 receive errors": 9}, SUSPECT, "interface eth0 receive errors: 4 more"),
        ({"memory uncorrected errors": 1}, BAD, "1 uncorrected memory errors"),
        ({"processor time": 100, "processor time stolen": 20}, SUSPECT, "took 20 %"),
    ],
)
def test_counters(counters: dict[str, int], verdict: str, words: str) -> None:
    before = {"interface eth0 receive errors": 5, "processor time": 0, "processor time stolen": 0}
    health = judge(record(change=on("n2", before=before, after={**before, **counters})))
    assert verdicts(health) == {"n2": verdict}
    assert words in evidence(health, "n2")


def test_a_clock_that_differs() -> None:
    health = judge(record(change=on("n4", begun_there_unix_s=2e9, ended_there_unix_s=2e9)))
    assert verdicts(health) == {"n4": SUSPECT}
    assert "ahead" in evidence(health, "n4")


def test_a_governor_that_differs_makes_a_node_suspect_and_another_kernel_does_not() -> None:
    health = judge(record(change=on("n9", facts={**FACTS, "governor": "powersave"})))
    assert verdicts(health) == {"n9": SUSPECT}
    made = record(change=on("n9", facts={**FACTS, "kernel": "6.2"}))
    assert verdicts(judge(made)) == {}
    assert "1 of 12 have kernel 6.2: n9" in shown(made)


def test_few_nodes_are_suspect_at_most() -> None:
    health = judge(record(nodes=3, change=slower(2, "disk_write", {"n2"})))
    assert verdicts(health) == {"n2": SUSPECT}


def test_many_nodes_are_folded() -> None:
    many = {f"n{number}" for number in range(1, 101, 4)}
    lines = shown(record(nodes=100, change=slower(2, "arithmetic", many))).splitlines()
    assert lines[0] == "75 of 100 nodes are healthy; 25 bad."
    assert any(line.startswith("and 5 more bad: ") for line in lines)


def test_a_record_is_valid_by_its_schema() -> None:
    schema = json.loads((Path(__file__).parents[2] / "schemas" / "health.schema.json").read_text())
    made = json.loads(record(nodes=2).model_dump_json())
    jsonschema.validate(made, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**made, "unknown": 1}, schema)


def test_the_output_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "health.md").read_text()
    dead = on("n7", error="ssh: connect to host n7 port 22: No route to host", values=[], facts={})
    slow = slower(1.9, "memory_bandwidth", {"n44"})
    odd = {"n17", "n20", "n44"}

    def change(visit: Visit) -> Visit:
        made = slow(dead(visit))
        facts = {**FACTS, "governor": "powersave"} if made.host in odd else made.facts
        return made.model_copy(update={"facts": facts})

    assert f"```\n{shown(record(128, change))}\n```" in guide


def page() -> str:
    """The page of twelve nodes with a bad one and a suspect, their past and their links."""
    odd = on("n7", facts={**FACTS, "governor": "powersave"})
    slow = slower(1.5, "memory_bandwidth", {"n3"})
    made = record(change=lambda visit: odd(slow(visit)))
    paired = played(1, made.hosts, own_link(["n5"], 0.5), 0.02).record.links
    made = made.model_copy(update={"links": paired})
    past = history.pasts([record().model_copy(update={"started_unix_s": 9e8})], made)
    return render(made, engine.judged(made, past), past)


def test_the_page_has_every_node_its_evidence_its_past_and_its_links() -> None:
    text = page()
    assert "9 of 12 nodes are healthy; 2 bad, 1 suspect." in text
    assert text.count('id="node-') == text.count('class="node"') == 12
    assert text.index(">n5</a>") < text.index(">n7</a>") < text.index(">n1<")
    assert "memory bandwidth 13" in text
    own = text[text.index('id="node-2"') : text.index('id="node-3"')]
    assert "<h2>n3 " in own
    assert re.search(r"memory bandwidth: 13\.\d GB/s \[1[23]\.\d, 13\.\d\]; peers (19\.9|20\.0) GB/s", own)
    assert own.count("<polyline") == 3
    assert own.count('class="strip"') == 6 + 3  # three of them links, which have no past
    assert "(1 since 1998-07-09)" in text
    assert " partners, other hosts " in text
    assert 'aria-label="Links"' in text


def test_a_page_of_many_nodes_has_no_matrix_and_few_sections() -> None:
    made = record(nodes=100, change=slower(2, "arithmetic", {f"n{number}" for number in range(1, 101, 4)}))
    text = render(made, judge(made), {})
    assert text.count('id="node-') == 50
    assert 'id="node-51"' in render(made, judge(made), {}, ["n100"])
    assert 'aria-label="Links"' not in text
    assert 'class="map"' not in text


def test_a_page_of_a_large_cluster_has_a_map_and_the_worst_nodes() -> None:
    made = record(nodes=300, change=slower(2, "arithmetic", {"n299"}))
    text = render(made, judge(made), {})
    assert text.count('<th scope="row"><a href="#node-') == 50 + 1  # of the table and of the evidence
    assert text.count("h7v7h-7z") == 300
    assert re.search(r'<path class="bad" d="M784 16h7v7h-7z"/>', text)
    with pytest.raises(UsageError, match=r"--node n301: not a node of this check; must be one of n1-300"):
        write(made, judge(made), {}, Path("never"), ["n301"])


def test_texts_of_nodes_are_no_markup() -> None:
    harm = '<img src=x>"&'
    facts = {**FACTS, "kernel": harm, harm: "1"}
    made = record(change=on("n2", facts=facts))
    visits = [visit.model_copy(update={"host": harm}) if visit.host == "n2" else visit for visit in made.visits]
    hosts = [harm if host == "n2" else host for host in made.hosts]
    made = made.model_copy(update={"hosts": hosts, "visits": visits})
    text = render(
        made, judge(made), history.pasts([made.model_copy(update={"started_unix_s": 1.0})], made), [harm]
    )
    assert "<img" not in text
    assert text.count("&lt;img src=x&gt;&#34;&amp;") > 5


def test_a_page_has_no_interval_of_fewer_than_six_visits() -> None:
    made = record(6, stages=(1,))
    whole = pages(made, judge(made), {}, judge(made).nodes)
    assert all(row.own.endswith("]") for page in whole for row in page.rows)
    few = made.model_copy(update={"visits": made.visits[: 3 * 6]})
    less = pages(few, judge(few), {}, judge(few).nodes)
    assert less[0].rows
    assert not any("[" in row.own for page in less for row in page.rows)
