"""The golden run as findings see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.findings.results import Run, derived
from tests.declared import catalog


@pytest.fixture(scope="session")
def healthy_run(golden_raw: Path) -> Run:
    """With all benchmarks declared, so that tests can add cases of any."""
    return derived(golden_raw).replaced(benchmarks=catalog())
