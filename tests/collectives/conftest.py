"""The collectives library under a real MPI: built once per installation, preloaded into test programs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hpcscope.build import collectives
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import embedded, embedded_build, mpi, quickly  # noqa: F401
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent

TOPOLOGY = """
format = 1
origin = "simulated"
[host]
latency_s = 1e-6
bandwidth_bytes_per_s = 5e9
[[group]]
name = "wan"
level = "wan"
latency_s = 0.01
bandwidth_bytes_per_s = 1e6
[[group]]
name = "one"
parent = "wan"
hosts = ["a", "b", "c"]
latency_s = 4e-5
bandwidth_bytes_per_s = 12e6
uplink_bytes_per_s = 1e6
[[group]]
name = "two"
parent = "wan"
hosts = ["d", "e"]
latency_s = 4e-5
bandwidth_bytes_per_s = 12e6
uplink_bytes_per_s = 1e6
"""


@dataclass(frozen=True)
class Ended:
    """What a job left behind."""

    code: int
    output: str
    errors: str
    decisions: list[dict[str, Any]]


def hosts_of(ranks: int) -> str:
    """Ranks on the five hosts of the topology, neighbors apart, the first host with several."""
    return ",".join("adbeca"[rank % 6] for rank in range(ranks))


Job = Callable[..., Ended]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[MpiInstallation, str], Path]:
    """Compile a program of this folder for an MPI, once."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_once(installation: MpiInstallation, source: str) -> Path:
        name = Path(installation.compiler).resolve().name + str(abs(hash(installation.compiler)))
        program = folder / f"{Path(source).stem}-{name}"
        if not program.exists():
            command = [
                installation.compiler,
                "-std=c++20",
                "-O1",
                "-pthread",
                str(HERE / source),
                "-o",
                str(program),
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        return program

    return compile_once


@pytest.fixture
def job(tmp_path: Path, compiled: Callable[[MpiInstallation, str], Path]) -> Job:
    """Run a test program on so many ranks under the library, and return what was decided, too."""

    def run(
        installation: MpiInstallation,
        ranks: int,
        source: str,
        *words: str,
        topology: str | None = TOPOLOGY,
        program: Path | None = None,
        timeout: int = PATIENCE_S,
        **environment: str,
    ) -> Ended:
        log = tmp_path / "decisions.jsonl"
        log.unlink(missing_ok=True)
        library = quickly(collectives.build, installation).library
        settings = {"LD_PRELOAD": str(library), "SCOPE_COLLECTIVES_LOG": str(log)}
        if topology is not None:
            (tmp_path / "topology.toml").write_text(topology)
            settings |= {
                "SCOPE_TOPOLOGY": str(tmp_path / "topology.toml"),
                "SCOPE_TOPOLOGY_HOSTS": hosts_of(ranks),
            }
        settings |= environment
        # Only the ranks get the library, not what starts them.
        assignments = [f"{name}={value}" for name, value in settings.items()]
        started = program or compiled(installation, source)
        arguments = (*assignments, str(started), *words)
        asked = MpiProgram("/usr/bin/env", arguments, ranks, oversubscribed=ranks > processors.usable())
        command = start_command(asked, Site(installation, installation.launcher))
        with launch_environment(command.environment) as variables:
            ended = subprocess.run(
                command.arguments, env=variables, capture_output=True, text=True, timeout=timeout
            )
        lines = log.read_text().splitlines() if log.exists() else []
        return Ended(ended.returncode, ended.stdout, ended.stderr, [json.loads(line) for line in lines])

    return run
