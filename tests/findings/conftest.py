"""The golden run as findings see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scope.findings.read import context_of
from scope.findings.run.context import Context


@pytest.fixture(scope="session")
def golden_context(golden_raw: Path) -> Context:
    return context_of(golden_raw)
