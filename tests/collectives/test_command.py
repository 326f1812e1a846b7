"""`scope build --collectives` and the estimator as people call it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hpcscope.build import collectives
from hpcscope.machine.machine import MpiInstallation
from tests.cli.scope_command import SCOPE
from tests.collectives.conftest import TOPOLOGY
from tests.messages import mentions
from tests.patience import PATIENCE_S


def test_build_prints_the_library_and_how_to_use_it(embedded: MpiInstallation) -> None:
    made = collectives.build(embedded)
    command = [str(SCOPE), "build", "--collectives", "--mpi", embedded.compiler]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert answer.returncode == 0, answer.stderr
    assert f"library    {made.library}" in answer.stdout
    assert f"-x LD_PRELOAD={made.library} -x SCOPE_TOPOLOGY=topology.toml" in answer.stdout
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert json.loads(answer.stdout) == {"library": str(made.library), "estimator": str(made.estimator)}
    assert collectives.built(embedded) == made


def estimate(embedded: MpiInstallation, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "topology.toml").write_text(TOPOLOGY)
    command = [str(collectives.build(embedded).estimator), str(folder / "topology.toml"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("library", ["openmpi4", "openmpi5", "mpich"])
def test_estimates_are_lines_of_json(embedded: MpiInstallation, tmp_path: Path, library: str) -> None:
    answer = estimate(embedded, tmp_path, "broadcast", "4000000", "--hosts", "a,b,c,d,e", "--library", library)
    lines = {line["algorithm"]: line for line in map(json.loads, answer.stdout.splitlines())}
    assert set(lines) == {
        *("library", "flat_binomial", "multilevel_asynchronous", "multilevel_blocking", "multilevel_pipelined"),
        "limit",
    }
    assert lines["limit"]["seconds"] == pytest.approx(4.0)
    assert lines["multilevel_pipelined"]["seconds"] == pytest.approx(4.0, rel=0.05)
    assert lines["multilevel_pipelined"]["bytes_over"] == {"one out": 4000000, "two in": 4000000}
    assert [name for name, line in lines.items() if line["chosen"]] == ["multilevel_pipelined"]
    assert all(line["seconds"] >= lines["limit"]["seconds"] for line in lines.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["broadcast", "1", "--hosts", "a,x"], 'host "x" ... group'),
        (["bcast", "1", "--hosts", "a,b"], "OPERATION bcast: allowed: broadcast, reduce"),
        (["broadcast", "-1", "--hosts", "a,b"], "BYTES -1: ... 0"),
        (["broadcast", "1", "--hosts", "a,b", "--root", "2"], "--root 2: "),
        (
            ["broadcast", "1", "--hosts", "a,b", "--library", "x"],
            "--library x: allowed: openmpi4, openmpi5, mpich",
        ),
        (["broadcast", "1"], "usage: scope-estimate"),
    ],
)
def test_bad_input_is_one_line(embedded: MpiInstallation, tmp_path: Path, words: list[str], said: str) -> None:
    answer = estimate(embedded, tmp_path, *words)
    assert answer.returncode == 2
    assert mentions(answer.stderr, said)
    assert len(answer.stderr.splitlines()) == 1
