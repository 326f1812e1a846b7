"""A program repeated for hours: errors, wrong results, drift, growing memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from hpcscope.errors import UsageError
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.study import made, named, starts_ranks
from hpcscope.settings.programs import SoakSettings


def head_of(
    program: Sequence[str], options: SoakSettings, given: Mapping[str, Any], command: Sequence[str]
) -> Head:
    """Return the head of a soak; UsageError if the options contradict each other.

    `program`: the words of a program, or of a whole command that begins with mpiexec or srun. `given`: settings of
    an experiment by their keys: hosts, MPI.
    """
    if not program:
        raise UsageError("no program: name one after --, as in `scope soak --time 24h -- mpiexec -n 4 ./app`")
    if options.time_s is None and options.runs is None:
        raise UsageError("--time or --runs: one of them must say when to stop")
    asked: dict[str, object] = {
        "name": named(program),
        "ranks": options.ranks,
        "repetitions": 1,
        "interval_s": options.interval_s,
        "monitored": not options.unmonitored,
        "transport": [options.transport],
    }
    here = resolve(None, given)
    if starts_ranks(program):
        if "launcher.hosts" in given or "launcher.oversubscribe" in given or options.ranks != 1:
            raise UsageError(
                f"{program[0]}: starts its ranks itself; --ranks, --hosts and --oversubscribe do not apply"
            )
        asked["command"] = list(program)
    else:
        asked["program"] = list(program)
        asked["launcher"] = here.launcher
    study = made(asked, COMMAND_LINE, {"mpi": here.mpi, "check": options.check, "limit_s": options.limit_s})
    head = folders.head_of("soak", study, list(command))
    return head.model_copy(update={"soak_s": options.time_s, "soak_runs": options.runs})
