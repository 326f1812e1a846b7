from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import golden_run as golden

TOGETHER = {
    **dict.fromkeys(("active_messages", "lab", "launch", "topology"), "hosts"),
    **dict.fromkeys(("campaign", "cli", "collectives"), "commands"),
    "measure": "ranks",
}
"""Folders of tests that start hosts and labs, commands, or ranks: one worker takes all of a kind in turn, and each
kind takes about as long as another. They often wait, for a time limit or another program, and leave the processors
to the other workers.

Some tests elsewhere start ranks, too, but ask only whether results are right.
"""
SECOND_HALF = "test_n"
"""The files of ranks from this name on are a kind of their own: together they would end last and alone."""
LONG = (
    *("build/test_checked_builds", "outside/test_outside", "report/test_accessibility", "test_style"),
    *("simulation/test_many_ranks", "test_analyze", "test_tutorial", "simulation/test_other_platforms"),
)
"""Files of few but long tests: they come first, so that no worker has the last of them alone."""


COMPILES_OR_RUNS = {
    *("active_messages", "build", "cli", "collectives", "fuzz", "lab", "measure", "monitor", "outside", "schemas"),
    *("tune", "test_tutorial", "test_real_faults", "test_browser", "test_accessibility", "test_leftovers"),
    *("test_large", "test_figures", "test_many_ranks", "test_other_platforms", "test_offers", "test_simulate"),
    *("test_command", "test_throughput", "test_published", "test_push_over_ssh", "test_postgresql"),
    "test_health_program",
}
"""Folders and files whose tests compile, start commands, ranks, hosts or a browser."""
MIXED = pytest.StashKey[bool]()
MPI_FIXTURES = {"embedded", "mpi", "ending_mpi", "cluster", "lab"}
"""What tests elsewhere ask for when they start ranks or hosts."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make check` leaves out."""
    for item in items:
        places = {part.removesuffix(".py") for part in item.nodeid.partition("::")[0].split("/")}
        if places & COMPILES_OR_RUNS or MPI_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("mpi")
        if (slow := item.get_closest_marker("slow")) and not (len(slow.args) == 1 and len(slow.args[0]) > 30):
            raise pytest.UsageError(f"{item.nodeid}: slow: must say why, and what still proves its promise")
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return when a test is dealt out: those that stay together first, for they take longest, then long files."""
    file = item.nodeid.partition("::")[0]
    if _together(item):
        return 0
    return 1 if file.removeprefix("tests/").removesuffix(".py") in LONG else 2


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and let signals end what the tests start: a script's background ignores these two."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # No device, whatever this machine has: tests of devices name theirs.
    os.environ.update(
        SCOPE_OPENCL="/nowhere/libOpenCL.so.1", OCL_ICD_VENDORS="/nowhere", SCOPE_CUDA="/nowhere/libcuda.so.1"
    )
    _let_waiting_ranks_sleep(config)
    gc.set_threshold(200_000, 50, 100)  # as often as usual, it takes an eighth of the processors' time
    config.addinivalue_line("markers", "simulation: draws hundreds of runs whose truth is known")
    config.addinivalue_line("markers", "mpi: compiles, or starts ranks, commands, emulated hosts or a browser")
    config.addinivalue_line("markers", "slow(reason): only in `make test-all`; it says why, and what stays")


def _let_waiting_ranks_sleep(config: pytest.Config) -> None:
    """Preload `sleeping_ranks.c` into whatever the tests start; without a compiler ranks poll as ever."""
    compiler = shutil.which("cc")
    if compiler and not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="scope-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder))
        library = f"{folder}/sleeping_ranks.so"
        source = Path(__file__).with_name("sleeping_ranks.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, str(source)], check=True)
        os.environ["LD_PRELOAD"] = library


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note whether tests with ranks and hosts were chosen with others; collected tests stay."""
    gc.freeze()
    session.config.stash[MIXED] = any(map(_together, session.items))


def _together(item: pytest.Item) -> bool:
    return item.nodeid.split("/")[1] in TOGETHER


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let tests with ranks and hosts have the processors first: ranks that wait for each other are dear.

    Only root may raise a priority again; a worker of any other user stays where its first test has put it. Where
    there are no such tests, all keep their priority: beside other programs they would hardly get a processor.
    """
    if item.config.stash[MIXED]:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0 if _together(item) else 5)
    return (yield)


class Workers(LoadScopeScheduling):
    """Tests that need the machine stay together; the files of the others are dealt out one by one."""

    def _split_scope(self, nodeid: str) -> str:
        folder, _, file = nodeid.split("::")[0].removeprefix("tests/").partition("/")
        kind = TOGETHER.get(folder, nodeid.split("::")[0])
        return f"further {kind}" if kind == "ranks" and file >= SECOND_HALF else kind


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Workers:
    """Deal out the tests by what they need."""
    return Workers(config, log)


@pytest.fixture(scope="session")
def golden_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run as it is before any analysis; read only."""
    return golden.write(tmp_path_factory.mktemp("golden") / "raw")


@pytest.fixture(scope="session")
def golden_run(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run with everything that is derived from it; read only."""
    from hpcscope.engine.analysis import analyze  # slow to import: most tests do without

    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("derived") / "golden"))
    analyze(run)
    return run


@pytest.fixture
def golden_copy(golden_raw: Path, tmp_path: Path) -> Path:
    """A raw golden run of one's own, to change or break."""
    return Path(shutil.copytree(golden_raw, tmp_path / "golden"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Where everything is installed (SCOPE_TEST_SKIPS=refuse) a skipped test is a failure."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and os.environ.get("SCOPE_TEST_SKIPS") == "refuse":
        terminalreporter.write_line(f"{len(skipped)} tests were skipped, and SCOPE_TEST_SKIPS=refuse", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Give such a session the exit code of failed tests."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        reporter
        and exitstatus == 0
        and os.environ.get("SCOPE_TEST_SKIPS") == "refuse"
        and reporter.stats.get("skipped")
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
