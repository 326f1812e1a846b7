"""Discovery of the cluster: the probes of all hosts, gathered into one `Machine`."""

import base64
import binascii
import json
import os
import platform
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence

from pydantic import ValidationError

from hpcscope.errors import ScopeError
from hpcscope.machine import probe
from hpcscope.machine.machine import EmulatedCluster, Host, Machine, NativeBuild
from hpcscope.own_python import own_python
from hpcscope.rundirectory import FORMAT
from hpcscope.version import VERSION

RunOnEveryHost = Callable[[Sequence[str]], str]
"""Runs a command once on each host and returns the outputs."""

STEERING = re.compile(
    r"(OMPI|OPAL|PRTE|PMIX|MPIR|MPICH|I_MPI|HYDRA|MV2|UCX|FI|PSM[23]?|NCCL|OMP|GOMP|KMP|GOTO|OPENBLAS|MKL|BLIS"
    r"|SCOPE(?!_JOB_END))_|(LD_PRELOAD|LD_LIBRARY_PATH|MALLOC_\w+|GLIBC_TUNABLES)$"
    r"|SLURM_(CLUSTER_NAME|JOB_PARTITION|MPI_TYPE|(CPU|MEM)_BIND\w*|DISTRIBUTION)$|(PBS|LSB)_QUEUE$"
)
"""Variables that affect a run; other variables of a batch job, such as its number, change every time."""
SECRET = re.compile(r"TOKEN|JWT|SECRET|PASSW|CREDENTIAL|COOKIE|(^|_)KEY")


def this_host() -> Host:
    """Return the facts of the host that runs this process."""
    return Host.model_validate(probe.probe())


def every_host(run: RunOnEveryHost) -> list[Host]:
    """Return the facts of all hosts, by starting the probe on each of them.

    Raises ScopeError if a host answered with anything but facts, or if none answered.
    """
    output = run(own_python("-m", "hpcscope.machine.probe", "--parts"))
    hosts = {host.name: host for host in _join_parts(output)}
    if not hosts:
        raise ScopeError(f"no host answered the probe; the launcher printed: {output.strip()[-200:] or 'nothing'}")
    kernels = Counter(host.boot_id or host.name for host in hosts.values())
    for host in hosts.values():
        if kernels[host.boot_id or host.name] > 1:  # as in a lab: probes count each other
            hosts[host.name] = host.model_copy(update={"run_queue": None})
    return list(hosts.values())


def machine(
    hosts: list[Host],
    build: NativeBuild | None,
    lab: EmulatedCluster | None = None,
    interface: str | None = None,
) -> Machine:
    """Return the content of `machine.json` for these hosts."""
    return Machine(
        format=FORMAT,
        hosts=hosts,
        build=build,
        environment=steering_environment(os.environ),
        python=platform.python_version(),
        scope_version=VERSION,
        lab=lab,
        interface=interface,
    )


def steering_environment(environment: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return the variables set for MPI, fabrics, threads or numerical libraries; never a secret."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if STEERING.match(name) and not SECRET.search(name)
    }


def _join_parts(output: str) -> list[Host]:
    messages: dict[str, dict[int, str]] = {}
    lengths: dict[str, int] = {}
    for sender, number, length, part in re.findall(r"scope-probe (\S+) (\d+) (\d+) (\S+)", output):
        messages.setdefault(sender, {})[int(number)] = part
        lengths[sender] = int(length)
    return [_decode(sender, parts, lengths[sender]) for sender, parts in messages.items()]


def _decode(sender: str, parts: dict[int, str], length: int) -> Host:
    try:
        data = "".join(parts[number] for number in range(length))
        return Host.model_validate(json.loads(zlib.decompress(base64.b64decode(data))))
    except (KeyError, ValueError, zlib.error, binascii.Error, ValidationError) as error:
        raise ScopeError(f"host {sender.rpartition(':')[0]}: its probe's answer arrived damaged") from error
