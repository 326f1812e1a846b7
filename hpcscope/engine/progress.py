"""How the engine reports progress: to listeners that its caller makes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from hpcscope.catalog.catalog import Catalog
from hpcscope.launch.supervision.supervisor import Listener
from hpcscope.plan.plan import Plan

RunProgress = Callable[[Catalog, Plan, Plan], AbstractContextManager[Listener]]
"""Makes the listener of a run from its benchmarks, its plan, and the part of the plan that has no records yet."""


def ignore(*_told: object) -> None:
    """Report no progress."""


class Silent:
    """A listener that ignores everything."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return ignore


def silent(_catalog: Catalog, _plan: Plan, _unfinished: Plan) -> AbstractContextManager[Listener]:
    """Report no progress."""
    return nullcontext(Silent())
