"""What findings about layers say: sizes of a protocol switch, the layer that holds back, and by how much."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hpcscope.findings.results import Run
from hpcscope.samples.records import LaunchRecord
from tests.findings.evidence import evident
from tests.findings.faulty_runs import (
    between_hosts,
    latencies,
    noisy,
    run_kinds,
    rung_summaries,
    summary,
    with_launches,
    with_summaries,
)
from tests.findings.kinds.layers import on_a_link, switched


def test_a_switch_is_named_with_its_sizes(healthy_run: Run) -> None:
    (switch,) = run_kinds()["protocol_switch"](healthy_run)
    assert switch.where["last_before_bytes"] == 16384
    assert switch.where["first_after_bytes"] == 20480
    evident(switch, (2.29e-6, "s"), rel=0.05)
    assert "btl_sm_eager_limit" in switch.advice


def test_a_switch_is_named_after_the_library_s_own_setting(healthy_run: Run) -> None:
    def told(launch: LaunchRecord) -> LaunchRecord:
        return launch.model_copy(update={"settings": {"btl_sm_eager_limit": 4096, "btl_tcp_eager_limit": 65536}})

    run = with_summaries(with_launches(healthy_run, told), latencies(switched))
    (switch,) = run_kinds()["protocol_switch"](run)
    assert [e.value for e in switch.evidence if "btl_sm_eager_limit" in e.what] == [4096]
    assert "--mca btl_sm_eager_limit" in switch.advice
    assert "20480" in switch.advice, "four times the first size behind the switch"
    assert [one.environment for one in switch.trials] == [{"OMPI_MCA_btl_sm_eager_limit": "20480"}]
    assert "tcp" not in switch.advice


def test_a_jump_down_is_said_to_be_one(healthy_run: Run) -> None:
    faster = latencies(lambda n: (1e-6 + n / 8e9) * (0.6 if n > 4096 else 1.0))
    (switch,) = run_kinds()["protocol_switch"](with_summaries(healthy_run, faster))
    assert re.search(r"above 4 KiB take .* shorter", switch.title)
    assert "a lower limit" in switch.advice
    assert switch.lost is None
    below = latencies(lambda n: (1e-6 + n / 8e9) * (0.6 if n > 4096 else 1.0), spread=0.001)
    wire = [
        one.model_copy(
            update={"benchmark": "network.latency", "parameters": {"message_bytes": n, "protocol": "shm"}}
        )
        for one in below
        for n in [one.parameters["message_bytes"]]
    ]
    (step,) = run_kinds()["protocol_switch"](with_summaries(healthy_run, wire))
    assert "no longer fit are cheaper" in step.advice, "a page is full above 4 KiB, and that is faster"


def test_sizes_that_are_far_apart_claim_nothing(healthy_run: Run) -> None:
    apart = [one for one in latencies(switched) if one.parameters["message_bytes"] != 5120]
    assert run_kinds()["protocol_switch"](with_summaries(healthy_run, apart)) == []


def test_advice_depends_on_the_library(healthy_run: Run) -> None:
    build = healthy_run.machine.build
    assert build is not None
    mpich = build.model_copy(update={"mpi": build.mpi.model_copy(update={"name": "mpich"})})
    run = healthy_run.replaced(machine=healthy_run.machine.model_copy(update={"build": mpich}))
    (switch,) = run_kinds()["protocol_switch"](run)
    assert "UCX_RNDV_THRESH" in switch.advice
    assert "btl_" not in switch.advice
    nameless = healthy_run.replaced(machine=healthy_run.machine.model_copy(update={"build": None}))
    (switch,) = run_kinds()["protocol_switch"](nameless)
    assert "no setting" in switch.advice
    assert switch.trials == []


@pytest.mark.parametrize(
    ("rate", "mpi_s", "layer", "severity"),
    [
        (10e9, 10.3e-6, "wire", "information"),
        (100e9, 10.5e-6, "protocol", "advice"),
        (10e9, 20e-6, "library", "advice"),
    ],
)
def test_the_layer_that_holds_back_is_named(
    rate: float, mpi_s: float, layer: str, severity: str, healthy_run: Run
) -> None:
    (found,) = run_kinds()["layer_bottleneck"](on_a_link(rate, 10e-6, mpi_s)(healthy_run))
    assert (found.where["layer"], found.severity) == (layer, severity)
    limit, network, mpi = (evidence.value for evidence in found.evidence[:3])
    assert isinstance(limit, float)
    assert limit == pytest.approx(rate / 8 * 1448 / 1538)
    assert network == pytest.approx(2**20 / 1e-3, rel=0.02)
    assert mpi == pytest.approx(2**20 / (100 * mpi_s), rel=0.02)


def test_start_up_and_half_performance_are_told(healthy_run: Run) -> None:
    run = between_hosts(healthy_run, 25e9)
    findings = run_kinds()["layer_bottleneck"](with_summaries(run, run.statistics))
    (found,) = (one for one in findings if one.where["path"] == "TCP over eth0")
    assert found.where["layer"] == "protocol"
    # What the golden run's lines say: 6.5 µs at 1.5 GB/s, of which TCP has 5 µs.
    assert found.where["n_half_bytes"] == pytest.approx(9750, rel=0.05)
    evident(found, (5e-6, "s"), (6.5e-6, "s"), rel=0.02)
    assert "76 %" in found.title, "5 of 6.5 µs"


def test_raw_frames_stand_in_for_a_wire_of_unknown_rate(healthy_run: Run) -> None:
    run = between_hosts(healthy_run, None)
    random = np.random.default_rng(4)
    given = {
        "protocol": "ethernet",
        "message_bytes": 1 << 20,
        "nodelay": "on",
        "wait": "polling",
        "flow": "credits",
    }
    rates = [2**20 / launch for launch in noisy(random, 0.95e-3, spread=0.002)]
    frames = summary(rates, "network.latency", "bandwidth_bytes_per_s", unit="B/s", work_bytes=1 << 20, **given)
    (found,) = run_kinds()["layer_bottleneck"](with_summaries(run, [*rung_summaries(10e-6, 10.3e-6), frames]))
    assert found.where["layer"] == "wire"
    assert "raw Ethernet" in found.evidence[0].what
