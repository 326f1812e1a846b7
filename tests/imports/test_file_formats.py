"""IOR, mdtest and fio: what is a case of Scope's storage benchmarks, and what only looks like one."""

from __future__ import annotations

import re

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import data, read

MIB = 2**20


def test_repetitions_of_ior_are_single_values() -> None:
    found = read("ior", data("ior-4.0.0.txt"))
    (write,) = found.figures("storage.write", "bandwidth_bytes_per_s")
    assert write.values == (4310 * MIB, 859.18 * MIB, 2180.98 * MIB)
    assert (write.statistic, write.ranks) == ("each", 2)
    assert write.parameters == {
        **{"interface": "posix", "file": "shared", "layout": "segmented", "order": "sequential"},
        **{"sync": "none", "cache": "cached", "file_bytes": 4 * MIB, "transfer_bytes": MIB, "buffer_bytes": MIB},
    }
    assert found.figures("storage.read", "time_s")[0].values == (0.000222, 0.000261, 0.002615)


def test_ior_2_prints_means_only() -> None:
    (figure,) = read("ior", data("ior-2.10.3.txt")).figures("storage.write", "bandwidth_bytes_per_s")
    assert (figure.values, figure.statistic, figure.repetitions) == ((3401.09 * MIB,), "mean", 3)
    assert figure.beside == {"mean": 3401.09 * MIB, "minimum": 1032.76 * MIB, "maximum": 4819.13 * MIB}


def test_what_ior_was_asked_for_is_a_parameter() -> None:
    (figure,) = read("ior", data("ior-4.1.txt")).figures("storage.write", "bandwidth_bytes_per_s")
    assert (figure.parameters["file"], figure.parameters["sync"]) == ("per_process", "fsync")
    (strided,) = read("ior", data("ior-4.0.0-v.txt")).figures("storage.write", "bandwidth_bytes_per_s")
    assert (
        strided.parameters | {"layout": "strided", "block_bytes": MIB, "file_bytes": 2 * MIB} == strided.parameters
    )
    assert (strided.parameters["interface"], strided.parameters["access"]) == ("mpiio", "collective")
    random = read("ior", data("ior-json-4.1.txt")).figures("storage.read", "bandwidth_bytes_per_s")[0]
    assert random.parameters["order"] == "random"
    assert random.values[0] == 64035.1756 * MIB


def test_ior_3_flushes_no_file_of_mpi_io() -> None:
    """It warns that `-e` has no effect there."""
    for file in ("ior-2.10.3-v.txt", "ior-3.0.1-v.txt"):
        (figure,) = read("ior", data(file)).figures("storage.write", "bandwidth_bytes_per_s")
        assert figure.parameters["sync"] == "none"


@pytest.mark.parametrize(
    "option", ["-D 2", "-E", "-Y", "-g", "-f script", "-O useO_DIRECT=1,fsync=1", "-V", "--dryRun"]
)
def test_another_test_than_scopes_stands_beside_it(option: str) -> None:
    text = data("ior-4.0.0.txt").replace(" -w -r ", f" -w -r {option} ")
    found = read("ior", text)
    assert {one.benchmark for one in found.reading.figures} == {"storage.ior_write", "storage.ior_read"}
    assert found.reading.figures[0].parameters["options"] == option


def test_reading_what_another_run_wrote_says_nothing_of_caches() -> None:
    found = read("ior", data("ior-4.0.0.txt").replace(" -w -r ", " -r "))
    assert found.figures("storage.ior_read", "bandwidth_bytes_per_s")
    direct = read("ior", data("ior-4.0.0.txt").replace(" -w -r ", " -r -O useO_DIRECT=1 "))
    (figure,) = direct.figures("storage.read", "bandwidth_bytes_per_s")
    assert figure.parameters["cache"] == "direct"


def test_wrong_data_are_no_result() -> None:
    text = data("ior-4.0.0.txt").replace(
        "\nSummary of all tests:",
        "WARNING: Incorrect data on WRITECHECK (8 errors found).\n\nSummary of all tests:",
    )
    assert {one.failure for one in read("ior", text).reading.figures} == {
        "Incorrect data on WRITECHECK (8 errors found)."
    }


def test_rates_of_mdtest() -> None:
    found = read("mdtest", data("mdtest-3.2.1.txt"))
    (create,) = found.figures("storage.metadata", "create_per_s")
    assert (create.values, create.statistic, create.repetitions) == ((17417.533,), "mean", 3)
    assert create.parameters == {"files": 50, "folder": "shared", "file_bytes": 0, "cache": "cached"}
    assert create.beside == {"mean": 17417.533, "minimum": 8979.803, "maximum": 31768.078}
    assert found.values("storage.mdtest", "directory_remove_per_s") == [761.291]
    (own,) = read("mdtest", data("mdtest-4.0.0-F.txt")).figures("storage.metadata", "open_per_s")
    assert own.parameters == {"files": 50, "folder": "own", "file_bytes": 3901, "cache": "other_rank"}


def test_a_tree_of_directories_is_another_benchmark() -> None:
    found = read("mdtest", data("mdtest-4.1-tree.txt"))
    (figure,) = found.figures("storage.mdtest", "create_per_s")
    assert (figure.values, figure.statistic) == ((2900.479,), "each")
    assert figure.parameters == {"files": 50, "options": "-z 1 -b 2"}


def test_files_of_another_process_of_the_same_node_are_not_those_of_another_node() -> None:
    text = data("mdtest-4.0.0-F.txt").replace("2 total task(s) on 1 node", "4 total task(s) on 2 node")
    assert not read("mdtest", text).figures("storage.metadata", "stat_per_s")


def test_times_of_mdtest_are_no_rates() -> None:
    assert not read("mdtest", data("mdtest-4.1-tree.txt").replace("SUMMARY rate", "SUMMARY time")).reading.figures


@pytest.mark.parametrize(
    ("file", "cache", "ranks", "rate", "time_s"),
    [("fio-3.33-direct.txt", "direct", 2, 699962075, 0.767), ("fio-3.42-seq.txt", "dropped", 1, 631612837, 0.850)],
)
def test_a_plain_read_of_fio(file: str, cache: str, ranks: int, rate: float, time_s: float) -> None:
    found = read("fio", data(file))
    (figure,) = found.figures("storage.read", "bandwidth_bytes_per_s")
    assert (figure.values, figure.ranks, figure.parameters["cache"]) == ((rate,), ranks, cache)
    assert figure.parameters["buffer_bytes"] == figure.parameters["transfer_bytes"]
    assert found.values("storage.read", "time_s") == [time_s]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rw" : "read"', '"rw" : "read", "runtime" : "2"'),
        ('"rw" : "read"', '"rw" : "read", "ioengine" : "libaio"'),
        ('"rw" : "read"', '"rw" : "read", "invalidate" : "0"'),
        ('"rw" : "read"', '"rw" : "rw"'),
        ('"total_ios" : 512', '"total_ios" : 511'),
        ('"runtime" : 850', '"runtime" : 85'),
    ],
)
def test_other_jobs_of_fio_stand_beside_it(old: str, new: str) -> None:
    text = data("fio-3.42-seq.txt").replace(old, new)
    assert text != data("fio-3.42-seq.txt")
    assert {one.benchmark for one in read("fio", text).reading.figures} == {"storage.fio_read"}


def test_jobs_directions_and_processes_of_fio() -> None:
    found = read("fio", data("fio-3.33.txt"))
    reads = found.figures("storage.fio_read", "bandwidth_bytes_per_s")
    assert [(one.parameters["job"], one.parameters["process"]) for one in reads] == [
        *(("randread", 0), ("randread", 1)),
        ("mix", 0),
    ]
    assert found.values("storage.fio_write", "bandwidth_bytes_per_s") == [1398101333, 41278135]
    latency = found.figures("storage.fio_read", "latency_s")[0]
    assert (latency.values, latency.statistic, latency.repetitions) == ((74.24e-6,), "median", 2048)
    assert latency.beside["maximum"] == 4584812 / 1e9
    assert found.reading.started_unix_s == 1795444265


def test_fio_2_1_prints_no_number_of_operations() -> None:
    text = re.sub(r'"total_ios" : \d+,\s*', "", data("fio-2.2.10.txt"))
    found, whole = read("fio", text), read("fio", data("fio-2.2.10.txt"))
    assert len(found.reading.figures) == len(whole.reading.figures) > 0
    assert not [one for one in found.figures("storage.fio_read", "latency_s") if one.repetitions]


def test_fio_2_counts_in_kibibytes_and_microseconds() -> None:
    found = read("fio", data("fio-2.2.10.txt"))
    assert found.values("storage.fio_write", "bandwidth_bytes_per_s")[0] == 2048000 * 1024
    assert found.figures("storage.fio_read", "latency_s")[0].values == (82 / 1e6,)
    assert found.reading.figures[0].parameters["options"] == "not printed"


def test_a_job_that_ended_with_an_error_is_no_result() -> None:
    text = data("fio-3.42-seq.txt").replace('"error" : 0', '"error" : 5')
    (failure,) = {one.failure for one in read("fio", text).reading.figures}
    assert "error 5" in failure


@pytest.mark.parametrize("end", ['"jobs" : [', '"jobname" : "r",', '"fio version" : "fio-3', '"runtime" :'])
def test_an_object_that_is_cut_hides_no_other(end: str) -> None:
    text, _, _ = data("fio-3.33-direct.txt").partition(end)
    found = read("fio", f"{text}{end}\n{data('fio-3.42-seq.txt')}")
    assert found.values("storage.read", "time_s") == [0.850]
    assert found.unread[0].strip() == "{" or found.unread[0].strip().startswith('"fio version"')


@pytest.mark.parametrize("file", ["fio-3.33.txt", "ior-json-4.0.0.txt"])
def test_of_json_that_is_cut_whole_elements_are_read(file: str) -> None:
    chosen = imports.format_of(file.partition("-")[0])
    text = data(file)
    whole = chosen.read(lines(text)).figures
    for end in range(0, len(text), 97):
        figures = chosen.read(lines(text[:end])).figures
        assert figures == whole[: len(figures)], "no figure that the whole output has not"
    assert chosen.read(lines(text[: text.rindex("}")])).figures, "the elements before the missing end"


def test_a_job_of_json_that_is_cut_is_not_dropped_in_silence() -> None:
    text = data("fio-3.33.txt")
    found = read("fio", text[: text.rindex('"jobname" : "mix"')])
    assert {one.parameters["job"] for one in found.reading.figures} == {"seqwrite"}
    assert any('"jobname" : "randread"' in line for line in found.unread)
