"""Scope measures a cluster layer by layer and says where performance is lost, and why.

The public API: `open` a run directory, `run` an experiment, `compare` two runs, draw a `figure`.
See docs/tutorial/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpcscope.version import __version__

if TYPE_CHECKING:
    from hpcscope.engine.api import compare, figure, run
    from hpcscope.engine.api import open_run as open  # noqa: A004 - read as hpcscope.open
    from hpcscope.errors import ScopeError, UsageError
    from hpcscope.findings.results import Run
    from hpcscope.statistics.case_times import CaseTimes, LaunchTimes
    from hpcscope.statistics.selection import Statistics

__all__ = [
    "CaseTimes",
    "LaunchTimes",
    "Run",
    "ScopeError",
    "Statistics",
    "UsageError",
    "__version__",
    "compare",
    "figure",
    "open",
    "run",
]

_MODULES = {
    **dict.fromkeys(("compare", "figure", "open_run", "run"), "hpcscope.engine.api"),
    "Run": "hpcscope.findings.results",
    **dict.fromkeys(("CaseTimes", "LaunchTimes"), "hpcscope.statistics.case_times"),
    "Statistics": "hpcscope.statistics.selection",
    **dict.fromkeys(("ScopeError", "UsageError"), "hpcscope.errors"),
}


def __getattr__(name: str) -> Any:
    """Load a name of the API when it is first used: `import hpcscope` alone loads nothing heavy."""
    from importlib import import_module

    attribute = "open_run" if name == "open" else name
    if name not in __all__:
        raise AttributeError(f"module 'hpcscope' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[attribute]), attribute)
    globals()[name] = value
    return value
