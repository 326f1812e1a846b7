"""Findings about programs with a fault of known place, run for real; and about the same program without."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scope.findings.finding import Finding
from scope.findings.profile import find_all
from scope.findings.profile.facts import SHORTEST_S, Facts
from scope.machine.machine import MpiInstallation
from scope.profiles.merged import Merged, merge
from scope.profiles.monitored_run import Options, run
from tests.installed_mpi import embedded  # noqa: F401
from tests.monitored_ring import AS_ROOT
from tests.patience import PATIENCE_S

RANKS = 3
TRIES = 3
Expectation = Callable[[set[str]], bool]
Findings = Callable[..., dict[str, Finding]]


@pytest.fixture(scope="module")
def findings(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Findings:  # noqa: F811
    """Run the program with a fault under the monitor and return what is found, by code."""
    folder = tmp_path_factory.mktemp("faults")
    program = folder / "faulty"
    source = Path(__file__).with_name("faulty.cpp")
    subprocess.run([embedded.compiler, "-std=c++17", "-g", "-o", program, source], check=True, timeout=PATIENCE_S)
    launch = [str(embedded.launcher), "--map-by", ":oversubscribe", "-n", str(RANKS), str(program)]
    # A process that waits must let the others go on, or it is they that come late.
    environment = {**AS_ROOT, "OMPI_MCA_mpi_yield_when_idle": "1"}

    def once(fault: str, place: Path, trace: str, words: tuple[str, ...]) -> dict[str, Finding]:
        ended = run([*launch, fault, *words], place, Options(trace=trace), environment=environment, timeout_s=60)
        assert ended.code == 0
        merged = merge(place)
        return {one.code: one for one in find_all(Facts(undisturbed(merged) if words else merged))}

    def found(fault: str, is_right: Expectation, trace: str = "0:0", *words: str) -> dict[str, Finding]:
        # What else runs on the machine can hide a fault, or make a process late that has none.
        for number in range(TRIES):
            answer = once(fault, folder / f"{fault}{number}", trace, words)
            if is_right(set(answer)):
                break
        return answer

    return found


def undisturbed(merged: Merged) -> Merged:
    """A profile of a program that does nothing but use files, without the time that other programs took."""
    longest_s = max(SHORTEST_S, *(2 * one.file_s for one in merged.processes))
    processes = [one.model_copy(update={"wall_s": min(one.wall_s, longest_s)}) for one in merged.processes]
    return merged.model_copy(update={"processes": processes, "wall_s": min(merged.wall_s, longest_s)})


def test_a_program_without_fault_is_said_to_sleep_and_nothing_else(findings: Findings) -> None:
    def sleeps(codes: set[str]) -> bool:
        return codes - {"kernel-time"} == {"off-cpu-time"}

    found = set(findings("nothing", sleeps, "0:60"))
    assert sleeps(found), f"{found}; on a busy machine naps take the kernel long"


def test_the_process_that_comes_late_is_named(findings: Findings) -> None:
    found = findings("late", {"late-process", "load-imbalance", "waiting-not-transferring"}.issubset)
    assert found["late-process"].where["rank"] == 1
    assert found["load-imbalance"].where["rank"] == 1
    assert "waiting-not-transferring" in found


def test_memory_taken_and_given_back_is_kernel_time(findings: Findings) -> None:
    found = findings("kernel", {"kernel-time"}.issubset)  # on two processors the third may come late, too
    assert "page faults" in found["kernel-time"].advice


def test_many_small_messages(findings: Findings) -> None:
    found = findings("small", {"small-receives"}.issubset)
    sizes = {each.what: each.value for each in found["small-receives"].evidence}
    assert sizes["mean message size"] == 1024
    assert "faulty.cpp" in str(found["small-receives"].where["site"])


def test_a_late_sender_is_seen_in_the_trace(findings: Findings) -> None:
    assert findings("sender", {"late-sender"}.issubset, "0:60")["late-sender"].where["rank"] == 0


OF_FILES = {"many-small-transfers", "many-opens", "one-rank-files", "unaligned-files"}


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("files", ""),
        ("pieces", "many-small-transfers"),
        ("opens", "many-opens"),
        ("alone", "one-rank-files"),
        ("unaligned", "unaligned-files"),
    ],
)
def test_what_is_wrong_with_files_is_found_and_nothing_else(
    findings: Findings, tmp_path: Path, fault: str, code: str
) -> None:
    expected = {code} - {""}
    found = findings(fault, lambda codes: OF_FILES & codes == expected, "0:0", str(tmp_path))
    assert OF_FILES & set(found) == expected
    if code:
        at = str(found[code].where.get("file", tmp_path / "data0"))
        assert at.startswith(str(tmp_path / "data")), at
