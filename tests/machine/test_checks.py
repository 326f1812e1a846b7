"""What the doctor looks at: each thing must be told when it is amiss, and only then."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hpcscope.machine import checks
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import Host, Link


@cache
def here() -> Host:
    """Return this host: to read its run queue takes a twentieth of a second."""
    return this_host()


def changed(processor: dict[str, Any] | None = None, **facts: Any) -> Host:
    host = here()
    steady = {"flags": ["constant_tsc", "nonstop_tsc"], "architecture": "x86_64", "usable": [0, 1, 2, 3]}
    cores = {"cores": 4, "threads": 4, "quota_processors": None}
    given = {"governor": "", "run_queue": 0.0, "links": [], **facts}
    return host.model_copy(
        update={"processor": host.processor.model_copy(update={**steady, **cores, **(processor or {})}), **given}
    )


def troubles(host: Host, folder: Path) -> set[str]:
    named = {"cores", "processor quota", "clock", "frequency governor", "run queue", "disk"}
    return {check.name for check in checks.check(host, folder) if not check.ok} & named


def test_a_healthy_host_has_no_trouble(tmp_path: Path) -> None:
    assert troubles(changed(), tmp_path) == set()
    assert troubles(changed(governor="performance", load=9.0, run_queue=1.0), tmp_path) == set()


@pytest.mark.parametrize(
    ("host", "trouble"),
    [
        (changed(governor="powersave"), "frequency governor"),
        (changed(run_queue=3.5), "run queue"),
        (changed({"flags": []}), "clock"),
        (changed({"usable": [2], "reached_cores": 1}), "cores"),
        (changed({"quota_processors": 2.5}), "processor quota"),
    ],
)
def test_each_trouble_is_told_with_advice(host: Host, trouble: str, tmp_path: Path) -> None:
    assert troubles(host, tmp_path) == {trouble}
    assert all(check.advice for check in checks.check(host, tmp_path) if not check.ok)


def test_locked_memory_matters_to_infiniband_only(tmp_path: Path) -> None:
    port = Link(
        name="mlx5_0/1", kind="infiniband", rate_bits_per_s=2e11, mtu_bytes=0, addresses=[], driver="mlx5", up=True
    )
    assert "locked memory" not in {check.name for check in checks.check(changed(), tmp_path)}
    assert "locked memory" in {check.name for check in checks.check(changed(links=[port]), tmp_path)}


def test_a_small_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "FREE_BYTES", 1e30)
    assert troubles(changed(), tmp_path) == {"disk"}
