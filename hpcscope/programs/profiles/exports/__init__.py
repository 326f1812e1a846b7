"""Export formats for profiles: one module each, found by walking this package.

Each module has `write(runs)`, which returns the text for one or more merged profiles.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence

from hpcscope.programs.profiles.records import Merged

Writer = Callable[[Sequence[Merged]], str]


def names() -> list[str]:
    """Return the names of the formats."""
    return [info.name for info in pkgutil.iter_modules(__path__)]


def writer(name: str) -> Writer:
    """Return the writer of a format."""
    found: Writer = importlib.import_module(f"{__name__}.{name}").write
    return found


def place(merged: Merged, site: int | None) -> list[str]:
    """Return the frames of a call site, outermost first; empty if the site is not known."""
    return merged.sites[site].frames[::-1] if site is not None else []
