"""The machine as `machine.json` keeps it: stable facts identify it, volatile ones are attributes."""

import re

from hpcscope.machine import processors
from hpcscope.machine.storage import StorageFolder
from hpcscope.strict import Strict, Unix


class Cache(Strict):
    """One cache level as one core sees it."""

    level: int
    kind: str
    """`data`, `instruction` or `unified`."""
    size_bytes: int
    line_bytes: int
    shared_by_cores: int


class Link(Strict):
    """One network interface."""

    name: str
    kind: str
    """`loopback`, `ethernet`, `infiniband`, `virtual` or the kernel's name."""
    rate_bits_per_s: float | None
    """Rate of the link; None if the kernel does not know it (virtual links)."""
    mtu_bytes: int
    addresses: list[str]
    driver: str
    up: bool


class Processor(Strict):
    """The processors of a host (one model per host)."""

    model: str
    architecture: str
    sockets: int
    cores: int
    """Physical cores."""
    threads: int
    """Hardware threads."""
    usable: list[int]
    """Numbers of the hardware threads that this process may use (its affinity)."""
    reached_cores: int | None = None
    """Number of physical cores of these threads; None in records that do not have it."""
    quota_processors: float | None
    """CPU time that control groups grant, in processors; None without a limit."""
    base_frequency_hz: float | None
    flags: list[str]
    """Vector and timer features that matter: avx2, avx512f, constant_tsc, nonstop_tsc, ..."""

    @property
    def threads_per_core(self) -> int:
        """The largest number of hardware threads per core: cores of a hybrid processor differ."""
        return max(-(-self.threads // max(self.cores, 1)), 1)

    @property
    def usable_processors(self) -> int:
        """Logical processors that a process may use at a time, within affinity and control groups."""
        return processors.limited(len(self.usable), self.quota_processors)

    @property
    def usable_cores(self) -> int:
        """Ranks that can have a physical core each, within affinity and control groups."""
        unknown = len(self.usable) * self.cores // max(self.threads, 1)
        return processors.limited(self.reached_cores or unknown, self.quota_processors)


class PcieLink(Strict):
    """The PCI Express link between a device and the host."""

    transfers_per_s: float
    """Rate of each lane that both ends support. Drivers lower the rate of an idle device."""
    lanes: int
    """Lanes in use."""
    most_lanes: int
    """Lanes that both ends support."""

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second each way on the lanes in use, without line code but with packet headers.

        8 of 10 bits up to PCI Express 2.0, 128 of 130 up to 5.0, 236 of 256 bytes of a flit since 6.0 (PCI Express
        Base Specification 6.0, 4.2).
        """
        rate = self.transfers_per_s
        coded = 8 / 10 if rate < 8e9 else 128 / 130 if rate < 64e9 else 236 / 256
        return rate * coded * self.lanes / 8

    @property
    def described(self) -> str:
        """The link in words: `PCIe, 16 lanes of 32 GT/s`."""
        return f"PCIe, {self.lanes} lanes of {self.transfers_per_s / 1e9:g} GT/s"


class Device(Strict):
    """A graphics processor, or another device that CUDA or OpenCL knows."""

    name: str
    kind: str
    """`gpu`, `accelerator`, or `cpu`: the host's processors, which some libraries offer as a device."""
    driver: str
    """Library and version."""
    memory_bytes: int
    compute_units: int
    pci_address: str
    """Address such as `0000:17:00.0`; empty if the driver does not say."""
    numa_node: int | None
    """The nearest NUMA node; None if the kernel does not say."""
    memory_bytes_per_s: float | None = None
    """Width of its memory times twice the clock, as NVIDIA counts; None if the driver does not say."""
    link: PcieLink | None = None
    """Its PCI Express link; None if the kernel knows none."""

    @property
    def described(self) -> str:
        """The device in words."""
        place = f", {self.pci_address}" if self.pci_address else ""
        near = f", NUMA node {self.numa_node}" if self.numa_node is not None else ""
        return (
            f"{self.name} ({self.kind}, {self.memory_bytes / 1e9:.3g} GB, {self.compute_units} compute units"
            f"{place}{near}; {self.driver})"
        )


class IdleState(Strict):
    """A state in which an idle processor sleeps (C-state)."""

    name: str
    latency_s: float
    """Time to leave the state, as the kernel assumes."""
    disabled: bool


class Host(Strict):
    """One node."""

    name: str
    processor: Processor
    caches: list[Cache]
    memory_bytes: int
    numa_nodes: int
    links: list[Link]
    devices: list[Device] = []
    """Devices in the order of their numbers."""
    kernel: str
    operating_system: str
    virtualization: str
    """Hypervisor or container as the system names it; empty on bare metal."""
    governor: str
    """Frequency governor; empty if the kernel shows none."""
    turbo: bool | None
    transparent_huge_pages: str
    load: float
    """One-minute load average before the run: volatile."""
    run_queue: float | None = None
    """Other processes that were running or waiting for a processor just before the run: volatile."""
    microcode: str = ""
    """Microcode of the first processor; empty if the kernel does not say."""
    vulnerabilities: dict[str, str] = {}
    """The kernel's mitigation of each vulnerability; mitigations cost time in system calls and interrupts."""
    idle_governor: str = ""
    """What chooses among the idle states; empty if the kernel shows none."""
    idle_states: list[IdleState] = []
    """Idle states of the first processor, the lightest first; none if the kernel shows none."""
    throttle_counts: dict[str, int] = {}
    """How often heat slowed `core`s (all together) and the `package` (the one with the most) since the system
    started; empty if the kernel does not count it."""
    boot_id: str
    """Identifies the running kernel: hosts with the same identifier share one."""

    @property
    def accelerators(self) -> list[str]:
        """The names of the devices other than the host's processors."""
        return [device.name for device in self.devices if device.kind != "cpu"]


class MpiInstallation(Strict):
    """An MPI installation: its compiler wrapper, its launcher and their versions."""

    name: str
    """`openmpi`, `mpich`, `intelmpi` or the name that the wrapper reports."""
    version: str
    origin: str
    """`asked`, `path` or `embedded`."""
    compiler: str
    """Path of mpicxx, or of the launcher if nothing can be compiled."""
    launcher: str
    """Path of mpiexec; empty if there is none."""

    @property
    def compiles(self) -> bool:
        """Whether there is a compiler for it."""
        return self.compiler != self.launcher

    @property
    def wrapper(self) -> str:
        """Path of mpicxx; empty if nothing can be compiled."""
        return self.compiler if self.compiles else ""


class Blas(Strict):
    """The library of dense linear algebra that the native program loads, as it describes itself on this host."""

    name: str
    """`OpenBLAS`, `MKL`, `BLIS`, or `BLAS` if it does not say."""
    version: str
    origin: str
    """`MKLROOT`, `pkg-config openblas`, `compiler's path` or `embedded`."""
    library: str
    """Path of the library."""
    prefix: str
    """The prefix of its symbol names."""
    configuration: str
    """The library's own description; empty if it has none."""
    core: str
    """The kind of processor whose kernels it chose; empty if it does not say."""


class Scalapack(Strict):
    """The library of distributed linear algebra that the native program loads."""

    origin: str
    """`pkg-config scalapack`, `MKLROOT` or `compiler's path`."""
    library: str
    """Path, links resolved."""
    version: str
    """From the library's file name, since the library itself does not say; empty if the name has no version."""
    mpi_name: str
    """Name under which it asks for MPI if the build's MPI has another name; else empty."""
    parts: list[str] = []
    """Paths of the libraries that make it up, itself first, if the build has to join them; else empty."""


BASELINE_FLAG = re.compile(r"-O2|-std=c\+\+20|-pthread|-g|-isystem.*|-DSCOPE_.*")
"""Flags of a baseline build, and those that do not change what is measured."""


class NativeBuild(Strict):
    """One compiled copy of the native program."""

    fingerprint: str
    """Hash of compiler, flags, MPI, BLAS and sources."""
    program: str
    compiler: str
    flags: str
    mpi: MpiInstallation
    blas: Blas | None = None
    """None if none was found."""
    scalapack: Scalapack | None = None
    """None if none was found."""
    built_unix_s: Unix
    prebuilt: str = ""
    """The name under which it asks for MPI (`libmpi.so.12`) if it came compiled with Scope; else empty."""

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        return f"came with Scope, for every MPI with the ABI {self.prebuilt}" if self.prebuilt else "compiled here"

    @property
    def optimized(self) -> str:
        """The flags beyond those of the baseline, which make this an optimized measurement; empty for none."""
        return " ".join(flag for flag in self.flags.split() if not BASELINE_FLAG.fullmatch(flag))

    @property
    def labelled_flags(self) -> str:
        """The flags, with a label if they are not the baseline's."""
        return f"{self.flags} (optimized: not the baseline's -O2)" if self.optimized else self.flags


UNSURE_S = 50e-6
"""How much the overhead of messages varies, for example with the wake-up time of a waiting program."""


class EmulatedMessage(Strict):
    """A message over a link of an emulated cluster, in a ping-pong."""

    bytes: int
    wire_s: float
    """One-way time by frame arithmetic, in seconds: every frame crosses every link of the path in turn."""
    measured_s: float
    """One-way time (RTT/2), the least of several."""


class EmulatedLink(Strict):
    """A link of an emulated cluster that was measured when it came up."""

    link: str
    """Name of the link, for example `ports of hpc` or `trunk giza-router`."""
    declared_bytes_per_s: float
    """TCP payload rate that corresponds to the declared rate."""
    measured_bytes_per_s: float
    processor_share: float
    """Fraction of all processors' time that was in use during the measurement, 0 to 1."""
    messages: list[EmulatedMessage] = []
    overhead_s: float = 0.0
    """One-way time of a 1-byte message beyond its frame arithmetic: what kernel, emulation and program add."""

    @property
    def deviation(self) -> float:
        """Measured over declared rate of a stream, minus one."""
        return self.measured_bytes_per_s / self.declared_bytes_per_s - 1

    @property
    def worst(self) -> tuple[str, float]:
        """What deviates most, and how far: the rate of a stream, or the rate of messages without the overhead."""
        deviations = {"a stream": self.deviation}
        for message in self.messages:
            expected_s = message.wire_s + self.overhead_s
            if abs(message.measured_s - expected_s) > UNSURE_S:
                deviations[f"messages of {message.bytes:,} B"] = expected_s / message.measured_s - 1
        return max(deviations.items(), key=lambda one: abs(one[1]))


class RelayedLink(Strict):
    """A link that a program carries, and how late its frames were delivered."""

    link: str
    frames: int
    late_median_us: float
    late_p99_us: float


class EmulatedCluster(Strict):
    """The lab that a run was made in."""

    name: str
    title: str
    links: list[EmulatedLink]
    relayed: list[RelayedLink]
    faults: list[str]
    """The injected faults, in words."""
    storage: str = ""
    """Its file system, in words; empty if it has none."""
    switch_of: dict[str, str] = {}
    """The switch of each host."""
    trunks: list[tuple[str, str]] = []
    """The switches that each trunk joins."""


class Machine(Strict):
    """`machine.json`."""

    format: int
    hosts: list[Host]
    build: NativeBuild | None
    further_builds: list[NativeBuild] = []
    """Builds of the native program for the architectures of other hosts."""
    environment: dict[str, str]
    """The variables that are set for MPI, fabrics, threads or BLAS (OMPI_*, UCX_*, OMP_*, ...)."""
    python: str
    scope_version: str
    lab: EmulatedCluster | None = None
    """The lab of the hosts; None if the hosts are real."""
    storage: StorageFolder | None = None
    """Where storage was measured; None if it was not."""
    interface: str | None = None
    """The network interface that messages between hosts were told to take (`--interface`); None: not told."""
