"""Scope measures a cluster layer by layer and says where performance is lost, and why.

The public API: `open` a run directory, `run` an experiment, `compare` two runs. See docs/tutorial/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scope.version import __version__

if TYPE_CHECKING:
    from scope.engine.api import compare, run
    from scope.engine.api import open_run as open  # noqa: A004 - read as scope.open
    from scope.engine.results import CaseTimes, LaunchTimes, Run, Statistics
    from scope.errors import ScopeError, UsageError

__all__ = [
    "CaseTimes",
    "LaunchTimes",
    "Run",
    "ScopeError",
    "Statistics",
    "UsageError",
    "__version__",
    "compare",
    "open",
    "run",
]

_MODULES = {
    **dict.fromkeys(("compare", "open_run", "run"), "scope.engine.api"),
    **dict.fromkeys(("CaseTimes", "LaunchTimes", "Run", "Statistics"), "scope.engine.results"),
    **dict.fromkeys(("ScopeError", "UsageError"), "scope.errors"),
}


def __getattr__(name: str) -> Any:
    """Load a name of the API when it is first used: `import scope` alone loads nothing heavy."""
    from importlib import import_module

    attribute = "open_run" if name == "open" else name
    if name not in __all__:
        raise AttributeError(f"module 'scope' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[attribute]), attribute)
    globals()[name] = value
    return value
