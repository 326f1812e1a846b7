"""The golden run as findings see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scope.findings.read import context_of
from scope.findings.run.context import Context
from tests.declared import catalog


@pytest.fixture(scope="session")
def golden_context(golden_raw: Path) -> Context:
    """With all benchmarks declared, so that tests can add cases of any."""
    return replace(context_of(golden_raw), catalog=catalog())
