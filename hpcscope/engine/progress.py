"""How the engine reports progress: to listeners that its caller makes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from hpcscope.catalog.catalog import Catalog
from hpcscope.launch.supervision.supervisor import Listener
from hpcscope.plan.plan import Launch, Plan, PlannedCase

RunProgress = Callable[[Catalog, Plan, Plan], AbstractContextManager[Listener]]
"""Makes the listener of a run from its benchmarks, its plan, and the part of the plan that has no records yet."""


class Silent:
    """A listener that ignores everything."""

    def launch_started(self, launch: Launch, attempt: int, cases: int) -> None:
        """Ignore it."""

    def case_ended(self, launch: Launch, case: PlannedCase, status: str) -> None:
        """Ignore it."""

    def sentinel_ended(self, launch: Launch, duration_s: float) -> None:
        """Ignore it."""

    def launch_ended(self, launch: Launch, failure: str) -> None:
        """Ignore it."""

    def values_known(self, lines: Sequence[str]) -> None:
        """Ignore them."""


def ignore(*_told: object) -> None:
    """Report no progress."""


def silent(_catalog: Catalog, _plan: Plan, _unfinished: Plan) -> AbstractContextManager[Listener]:
    """Report no progress."""
    return nullcontext(Silent())
