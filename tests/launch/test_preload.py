"""`transport=collectives`: what is started then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.launch.launcher import MpiProgram
from hpcscope.launch.preload import preloaded
from hpcscope.launch.site import site_of, start_command
from hpcscope.machine.machine import MpiInstallation
from hpcscope.settings.experiment import LauncherSettings


def test_other_transports_are_left_alone(embedded: MpiInstallation) -> None:
    site = site_of(embedded, LauncherSettings(), "the test")
    job = MpiProgram("program", (), 2, transport="tcp")
    assert preloaded(job, site) is job


def test_the_ranks_load_the_library_and_not_the_launcher(
    embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    site = replace(site_of(embedded, LauncherSettings(), "the test"), topology=Path("/t.toml"))
    job = preloaded(MpiProgram("program", ("--one",), 2, transport="collectives.broadcast.flat_binomial"), site)
    assert (job.path, job.transport, job.arguments[-2:]) == ("env", "default", ("program", "--one"))
    settings = dict(word.split("=", 1) for word in job.arguments[:-2])
    assert settings["SCOPE_TOPOLOGY"] == "/t.toml"
    assert settings["SCOPE_COLLECTIVES"] == "broadcast=flat_binomial"
    assert Path(settings["LD_PRELOAD"].split()[0]).is_file()
    assert "LD_PRELOAD" not in start_command(job, site).environment
