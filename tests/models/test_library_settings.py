from typing import Any

import pytest

from hpcscope.models.communication.library_settings import name_breaks
from hpcscope.models.fitting.fit import Breakpoint, Fit
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.estimate import Estimate
from tests.declared import catalog

OPEN_MPI = {
    "btl_sm_eager_limit": 4096,
    "btl_vader_eager_limit": 4096,
    "btl_sm_rndv_eager_limit": 32768,
    "btl_sm_max_send_size": 32768,
    "btl_sm_segment_size": 4096,
    "btl_vader_memcpy_limit": 32768,
    "btl_tcp_eager_limit": 65536,
    "btl_tcp_rndv_eager_limit": 65536,
    "coll_tuned_alltoall_intermediate_msg": 3000,
    "coll_han_bcast_segsize": 65536,
    "coll_han_reduce_segsize": 65536,
    "coll_han_allreduce_segsize": 65536,
    "pml_ob1_unexpected_limit": 128,
    "btl": "^uct",
}
MPICH = {
    "MPIR_CVAR_BCAST_SHORT_MSG_SIZE": 12288,
    "MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE": 524288,
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": 8192,
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": 8192,
    "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE": 8192,
    "MPIR_CVAR_BCAST_IPC_READ_MSG_SIZE_THRESHOLD": 8192,
}


def launch(
    settings: dict[str, Any], hosts: tuple[str, ...] = ("a", "a"), transport: str = "default"
) -> LaunchRecord:
    processes = [{"rank": rank, "host": host, "pid": 1, "processors": [0]} for rank, host in enumerate(hosts)]
    clock = {
        "source": "tsc",
        "frequency_hz": 1e9,
        "resolution_s": 1e-8,
        "overhead_s": 2e-8,
        "monotonic": True,
        "fallback_reason": "",
    }
    return LaunchRecord.model_validate(
        {
            "record": "launch",
            "format": 2,
            "launch": 1,
            "attempt": 1,
            "ranks": len(hosts),
            "origin": "measured",
            "transport": transport,
            "placement": "core",
            "started_unix_s": 0.0,
            "library": "a library",
            "mpi_standard": "4.0",
            "settings": settings,
            "processes": processes,
            "clock": clock,
            "clock_synchronization": {"method": "one host, one clock", "hosts": 1, "error_s": 0.0},
        }
    )


def broken(
    last: float, first: float, benchmark: str = "mpi.latency", ranks: int = 2, transport: str = "default"
) -> Fit:
    return Fit(
        model="piecewise_hockney",
        equation="",
        source="",
        subject=Case.of(catalog(), benchmark, {}, (ranks, transport, Placement())),
        metric="latency_s",
        definition="half_round_trip",
        variable="message_bytes",
        low=0,
        high=1 << 20,
        parameters=[],
        breakpoints=[Breakpoint(last_before=last, first_after=first, jump_s=Estimate(value=1e-6))],
        points=[],
        relative_error=0,
        bic=0,
        chosen=True,
        reason="",
    )


def names(fit: Fit, *launches: LaunchRecord, **environment: str) -> list[str]:
    of_its_kind = [one.model_copy(update={"ranks": fit.subject.ranks}) for one in launches]
    # A launch of one process does not open what carries messages: it must not count.
    (named,) = name_breaks([fit], [*of_its_kind, launch({}, hosts=("a",))], environment, catalog())
    return [setting.name for setting in named.breakpoints[0].settings]


@pytest.mark.parametrize(("last", "first"), [(4096, 8192), (4000, 4097), (2048, 4096), (1024, 4032)])
def test_a_limit_between_the_sizes_is_named(last: float, first: float) -> None:
    """A limit of 4096 B may count up to 256 B of header; the older name of shared memory is left out."""
    assert names(broken(last, first), launch(OPEN_MPI)) == ["btl_sm_eager_limit"]


@pytest.mark.parametrize(("last", "first"), [(4097, 8192), (1024, 2048), (64, 128), (1 << 20, 1 << 21)])
def test_a_limit_elsewhere_is_not_named(last: float, first: float) -> None:
    assert names(broken(last, first), launch(OPEN_MPI)) == []


def test_the_transport_that_carries_decides() -> None:
    over_tcp = broken(32768, 131072, transport="tcp")
    assert names(over_tcp, launch(OPEN_MPI, transport="tcp")) == [
        "btl_tcp_eager_limit",
        "btl_tcp_rndv_eager_limit",
    ]
    inside = broken(32768, 131072)
    assert names(inside, launch(OPEN_MPI)) == ["btl_sm_rndv_eager_limit", "btl_sm_max_send_size"]
    assert "btl_tcp_eager_limit" in names(inside, launch(OPEN_MPI, hosts=("a", "b")))
    # Settings of launches over another transport say nothing.
    assert names(over_tcp, launch(OPEN_MPI)) == []


def test_a_collective_s_own_switch_comes_first() -> None:
    found = names(broken(32768, 131072, "mpi.broadcast", ranks=4), launch(OPEN_MPI))
    assert found == ["coll_han_bcast_segsize", "btl_sm_rndv_eager_limit", "btl_sm_max_send_size"]
    assert names(broken(32768, 131072, "mpi.reduce"), launch(OPEN_MPI))[0] == "coll_han_reduce_segsize"
    assert names(broken(2048, 4000, "mpi.alltoall"), launch(OPEN_MPI))[0] == "coll_tuned_alltoall_intermediate_msg"
    assert names(broken(8192, 16384, "mpi.broadcast"), launch(MPICH))[0] == "MPIR_CVAR_BCAST_SHORT_MSG_SIZE"


def test_an_allgather_s_limit_is_that_of_all_blocks() -> None:
    found = names(broken(65536, 262144, "mpi.allgather", ranks=4), launch(MPICH))
    assert found == ["MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE"]
    assert names(broken(262144, 1048576, "mpi.allgather", ranks=4), launch(MPICH)) == []


def test_the_device_that_is_not_in_use_is_silent() -> None:
    found = names(broken(4096, 16384), launch(MPICH, hosts=("a", "b")))
    assert found == ["MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"]


def test_launches_that_differ_name_nothing() -> None:
    other = OPEN_MPI | {"btl_sm_eager_limit": 2048, "btl_vader_eager_limit": 2048}
    assert names(broken(4096, 8192), launch(OPEN_MPI), launch(other)) == []


@pytest.mark.parametrize(
    ("text", "named"), [("6k", True), ("6144", True), ("6KB", True), ("inf", False), ("1m", False)]
)
def test_ucx_is_told_by_the_environment(text: str, named: bool) -> None:
    assert (names(broken(4096, 8192), launch({}), UCX_RNDV_THRESH=text) == ["UCX_RNDV_THRESH"]) is named


def test_what_is_below_the_library_has_no_setting_of_it() -> None:
    assert names(broken(4096, 8192, "network.latency"), launch(OPEN_MPI)) == []
