"""The probe of this host, and of machines that lack what this one has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError
from hpcscope.machine import discover, probe, processors
from hpcscope.machine.machine import Host
from tests.patience import PATIENCE_S


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A root without /proc and /sys."""
    return tmp_path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sockets of two cores with two threads each, a control group with a quota, a governor."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 4, 5})
    cpu = "sys/devices/system/cpu"
    for number in range(8):
        write(
            tmp_path,
            **{
                f"{cpu}/cpu{number}/topology/physical_package_id": str(number % 4 // 2),
                f"{cpu}/cpu{number}/topology/core_id": str(number % 2),
                f"{cpu}/cpu{number}/topology/thread_siblings_list": f"{number % 4},{number % 4 + 4}\n",
            },
        )
    write(
        tmp_path,
        **{
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Big CPU @ 2.40GHz\nflags\t\t: fpu avx2 constant_tsc\n"
            "microcode\t: 0x2b000571\n",
            "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 5 kB\n",
            "proc/loadavg": "3.25 2.00 1.00 1/100 4242\n",
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            f"{cpu}/cpu0/cache/index0/level": "1",
            f"{cpu}/cpu0/cache/index0/type": "Data",
            f"{cpu}/cpu0/cache/index0/size": "48K",
            f"{cpu}/cpu0/cache/index0/coherency_line_size": "64",
            f"{cpu}/cpu0/cache/index0/shared_cpu_list": "0,4",
            f"{cpu}/cpu0/cache/index1/level": "3",
            f"{cpu}/cpu0/cache/index1/type": "Unified",
            f"{cpu}/cpu0/cache/index1/size": "32M",
            f"{cpu}/cpu0/cache/index1/coherency_line_size": "64",
            f"{cpu}/cpu0/cache/index1/shared_cpu_list": "0-1,4-5",
            f"{cpu}/cpu0/cpufreq/scaling_governor": "powersave\n",
            f"{cpu}/intel_pstate/no_turbo": "1\n",
            f"{cpu}/cpu0/cpuidle/state0/name": "POLL\n",
            f"{cpu}/cpu0/cpuidle/state0/latency": "0\n",
            f"{cpu}/cpu0/cpuidle/state0/disable": "0\n",
            f"{cpu}/cpu0/cpuidle/state10/name": "C6\n",
            f"{cpu}/cpu0/cpuidle/state10/latency": "133\n",
            f"{cpu}/cpu0/cpuidle/state10/disable": "1\n",
            f"{cpu}/cpuidle/current_governor_ro": "menu\n",
            f"{cpu}/cpu0/thermal_throttle/core_throttle_count": "3\n",
            f"{cpu}/cpu1/thermal_throttle/core_throttle_count": "4\n",
            f"{cpu}/cpu0/thermal_throttle/package_throttle_count": "5\n",
            f"{cpu}/cpu1/thermal_throttle/package_throttle_count": "5\n",
            f"{cpu}/vulnerabilities/meltdown": "Mitigation: PTI\n",
            f"{cpu}/vulnerabilities/l1tf": "Not affected\n",
            "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:   900 kB\n",
            "sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:   100 kB\n",
            "sys/devices/system/node/node2/meminfo": "Node 2 MemTotal:     0 kB\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n",
            "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
            "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
            "etc/os-release": 'NAME="X"\nPRETTY_NAME="X Linux 1"\n',
        },
    )
    return tmp_path


def test_this_host_is_described_as_the_operating_system_sees_it() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "hpcscope.machine.probe"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    host = Host.model_validate(json.loads(answer.stdout))
    assert host.name == os.uname().nodename
    assert host.processor.usable == sorted(os.sched_getaffinity(0))
    assert host.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    loopback = [link for link in host.links if link.kind == "loopback"]
    assert [link.rate_bits_per_s for link in loopback] == [None]
    assert "127.0.0.1" in loopback[0].addresses


def test_the_run_queue_leaves_out_the_probe_and_what_it_started(tmp_path: Path) -> None:
    write(tmp_path, **{"proc/loadavg": "0.00 0.00 0.00 5/100 4242\n"})
    assert probe.run_queue(tmp_path) == 4
    for thread, state in {7: "R", 8: "S", 9: "R"}.items():
        write(tmp_path, **{f"proc/self/task/{thread}/stat": f"{thread} (a thread) {state} 1 7 7 0\n"})
    assert probe.run_queue(tmp_path) == 3
    for process, (state, children) in {20: ("S", "21 22"), 21: ("R", ""), 22: ("S", "")}.items():
        task = f"proc/{process}/task/{process}"
        write(tmp_path, **{f"{task}/stat": f"{process} (a child) {state} 1 7 7 0\n", f"{task}/children": children})
    write(tmp_path, **{"proc/self/task/8/children": "20 "})
    assert probe.run_queue(tmp_path) == 2


def test_a_probe_loads_nothing_heavy() -> None:
    code = "import sys, hpcscope.machine.probe; print(sorted({'pydantic', 'numpy', 'rich'} & set(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert answer.stdout.strip() == "[]"


def test_topology_counts_cores_not_threads(server: Path) -> None:
    host = Host.model_validate(probe.probe(server))
    assert (host.processor.sockets, host.processor.cores, host.processor.threads) == (2, 4, 8)
    assert host.processor.quota_processors == 1.5
    assert host.processor.base_frequency_hz == 2.4e9
    assert host.processor.flags == ["avx2", "constant_tsc"]
    assert host.processor.usable_cores == 1


def test_caches_are_shared_by_cores_not_threads(server: Path) -> None:
    first, last = Host.model_validate(probe.probe(server)).caches
    assert (first.size_bytes, first.shared_by_cores, first.kind) == (48 * 1024, 1, "data")
    assert (last.size_bytes, last.shared_by_cores) == (32 * 1024**2, 2)


def test_volatile_facts(server: Path) -> None:
    host = Host.model_validate(probe.probe(server))
    assert (host.governor, host.turbo, host.load) == ("powersave", False, 3.25)
    assert (host.transparent_huge_pages, host.numa_nodes) == ("madvise", 2)
    assert host.operating_system == "X Linux 1"


def test_what_slows_a_processor_or_wakes_it_late_is_recorded(server: Path) -> None:
    host = Host.model_validate(probe.probe(server))
    assert host.microcode == "0x2b000571"
    assert host.vulnerabilities == {"l1tf": "Not affected", "meltdown": "Mitigation: PTI"}
    assert host.idle_governor == "menu"
    idle = [(state.name, state.latency_s, state.disabled) for state in host.idle_states]
    assert idle == [("POLL", 0.0, False), ("C6", pytest.approx(133e-6), True)]
    assert host.throttle_counts == {"core": 7, "package": 5}


def test_an_infiniband_port_has_its_rate(server: Path) -> None:
    port = Host.model_validate(probe.probe(server)).links[-1]
    assert (port.name, port.kind, port.rate_bits_per_s, port.up) == ("mlx5_0/1", "infiniband", 200e9, True)


def test_a_host_without_proc_and_sys_still_answers(bare: Path) -> None:
    host = Host.model_validate(probe.probe(bare))
    assert host.memory_bytes == 0
    assert host.caches == []
    assert host.processor.cores >= 1
    assert host.processor.quota_processors is None
    assert host.virtualization == ""
    absent = (host.microcode, host.vulnerabilities, host.idle_governor, host.idle_states, host.throttle_counts)
    assert not any(absent)


@pytest.mark.parametrize("quota", ["", "max", "-1 100000", "rubbish here"])
def test_an_absent_quota_is_no_limit(bare: Path, quota: str) -> None:
    write(bare, **{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": quota})
    assert processors.quota(bare) is None


def test_a_quota_of_the_first_control_group_version(bare: Path) -> None:
    write(
        bare,
        **{
            "proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "250000",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
        },
    )
    assert processors.quota(bare) == 2.5


def test_answers_of_several_hosts_mixed_line_by_line_are_told_apart() -> None:
    here = probe.probe()
    first = probe.in_parts({**here, "name": "a", "kernel": "x" * 3000 + os.urandom(3000).hex()}).splitlines()
    second = probe.in_parts({**here, "name": "b"}).splitlines()
    assert len(first) > 2
    mixed = [line for pair in zip(first, second + ["noise"] * len(first), strict=False) for line in pair]
    assert [host.name for host in discover.every_host(lambda command: "\n".join(mixed))] == ["a", "b"]


@pytest.mark.parametrize(("kernels", "queues"), [(("x", "y"), [5, 5]), (("x", "x"), [None, None])])
def test_hosts_of_one_kernel_have_no_run_queue_of_their_own(
    kernels: tuple[str, str], queues: list[float | None]
) -> None:
    here = probe.probe()
    facts = [
        {**here, "name": f"host{kernel}{n}", "run_queue": 5, "boot_id": kernel} for n, kernel in enumerate(kernels)
    ]
    hosts = discover.every_host(lambda command: "\n".join(map(probe.in_parts, facts)))
    assert [host.run_queue for host in hosts] == queues


def test_a_damaged_answer_names_the_host() -> None:
    whole = probe.in_parts({**probe.probe(), "name": "a", "kernel": os.urandom(3000).hex()}).splitlines()
    with pytest.raises(ScopeError, match="host a"):
        discover.every_host(lambda command: "\n".join(whole[1:]))


def test_silence_is_an_error() -> None:
    with pytest.raises(ScopeError, match="ssh: connection refused"):
        discover.every_host(lambda command: "ssh: connection refused")


def test_secrets_never_enter_the_environment_record() -> None:
    variables = {"UCX_TLS": "tcp", "SLURM_JWT": "x", "I_MPI_HYDRA_TOKEN": "x", "HOME": "/"}
    of_job = {"SLURM_MPI_TYPE": "pmix", "SLURM_JOB_ID": "3", "SLURM_PROCID": "0", "SCOPE_JOB_END_UNIX_S": "9"}
    assert discover.steering_environment(variables | of_job) == {"SLURM_MPI_TYPE": "pmix", "UCX_TLS": "tcp"}
