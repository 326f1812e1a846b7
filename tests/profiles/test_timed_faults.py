"""Findings that only a clock can make, about a program that really comes late, naps or churns memory.

What else runs on the machine can hide a fault, or make a process late that has none: each has several tries.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.profile import find_all
from hpcscope.findings.profile.facts import ProfileFacts
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import embedded  # noqa: F401
from tests.profiles.faulty import Faulty

TRIES = 3
ROUNDS = 30
Expectation = Callable[[set[str]], bool]
Findings = Callable[..., dict[str, Finding]]

pytestmark = pytest.mark.slow(
    "judges times of a machine that may be busy; tests/profiles/test_findings.py has the same faults in written "
    "profiles, tests/profiles/test_real_faults.py what a real program is seen to do"
)


@pytest.fixture(scope="module")
def findings(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Findings:  # noqa: F811
    """Run the program with a fault under the monitor and return what is found, by code."""
    faulty = Faulty.compiled(embedded, tmp_path_factory.mktemp("faults"))

    def found(fault: str, is_right: Expectation, trace: str = "0:0") -> dict[str, Finding]:
        for number in range(TRIES):
            merged = faulty.profile(fault, ROUNDS, trace=trace, number=number)
            answer = {one.code: one for one in find_all(ProfileFacts(merged))}
            if is_right(set(answer)):
                break
        return answer

    return found


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


def test_a_late_sender_is_seen_in_the_trace(findings: Findings) -> None:
    assert findings("sender", {"late-sender"}.issubset, "0:60")["late-sender"].where["rank"] == 0
