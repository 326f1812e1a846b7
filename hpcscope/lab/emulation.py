"""Labs brought up, entered and taken down. A lab lives below one process; when that ends, nothing is left.

Without root, a lab is made in a user namespace if the kernel allows it.
"""

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hpcscope.build.compiler import system_compiler
from hpcscope.build.single_source import compiled
from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import folder, storage
from hpcscope.lab.active import ActiveLab, Relay, UpHost
from hpcscope.lab.description import Lab
from hpcscope.lab.entry import TEMPORARY, TIMEOUT_S, Emulation
from hpcscope.lab.wiring import TRAFFIC, Way, Wiring, wire

HOLDER_LOG = "holder.log"
TUN = "/dev/net/tun"
NEEDED = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}

REMOTE_SHELL = """#!/bin/sh
# Replaces ssh inside the lab: remote-shell [options] HOST COMMAND...
while :; do case $1 in -[oplibFEc]) shift 2;; -*) shift;; *) break;; esac; done
host=$1
shift
case $host in
{cases}
*) echo "lab {name}: no such host: $host" >&2; exit 255;;
esac
exec nsenter --target "$pid" --net --uts --mount sh -c "$*"
"""


def find(name: str) -> Emulation | None:
    """Return the lab of this name if it is up; leftovers of a dead one are removed.

    Raises UsageError if its state is damaged.
    """
    state = folder.state(name)
    if state is not None:
        return Emulation(folder.folder_of(name), state)
    with folder.locked(wait=False) as alone:
        if alone and not folder.holders(name):
            storage.release(folder.folder_of(name))
            folder.remove(name)
    return None


def all_up() -> dict[str, Emulation | UsageError]:
    """Return every lab of this user that is up, or why its state cannot be read.

    Leftovers of dead ones are removed.
    """
    found: dict[str, Emulation | UsageError | None] = {}
    for name in folder.names():
        try:
            found[name] = find(name)
        except UsageError as error:
            found[name] = error
    return {name: each for name, each in found.items() if each is not None}


def up(name: str, lab: Lab) -> Emulation:
    """Bring up a lab that stays until `down`; raises UsageError if one of this name is already up."""
    with _built(name, lab) as (emulation, holder):
        assert holder.stdin is not None
        holder.stdin.write("stay\n")
        holder.stdin.flush()
        _forget(holder)
    return emulation


@contextmanager
def temporary(name: str, lab: Lab) -> Iterator[Emulation]:
    """Keep a lab up during the context, at most as long as this process lives."""
    with _built(f"{name}-{os.getpid()}", lab) as (emulation, holder):
        try:
            yield emulation
        finally:
            _end(holder, emulation.state.name)


def down(name: str) -> None:
    """End a lab and everything inside, whatever its state file says; UsageError if none of this name is up."""
    with folder.locked():
        running = folder.holders(name)
        storage.release(folder.folder_of(name))
        folder.end_holders(name)
        folder.remove(name)
    if not running:
        raise UsageError(f"lab {name} is not up; `scope lab list` shows the labs that are up")


@contextmanager
def _built(name: str, lab: Lab) -> Iterator[tuple[Emulation, subprocess.Popen[str]]]:
    """Build a lab; any failure takes everything down again."""
    if reason := refusal() or storage.refusal(lab, needs_user_namespace()):
        raise UsageError(reason)
    with folder.locked():
        if folder.holders(name):
            raise UsageError(f"lab {name} is up already; end it with `scope lab down {name}`")
        here = folder.make(name)
        (here / TEMPORARY).mkdir()
        (here / folder.HOSTS).write_text(_hosts_file(lab))
        rootless = needs_user_namespace()
        holder = _start_holder(here, lab, rootless)
        try:
            emulation = _wired(here, name, lab, rootless, holder)
            storage.bring_up(emulation)
        except BaseException:
            _end(holder, name)
            raise
    try:
        yield emulation, holder
    except BaseException:
        _end(holder, name)
        raise


def _wired(here: Path, name: str, lab: Lab, rootless: bool, holder: subprocess.Popen[str]) -> Emulation:
    started, pids = _first_line(holder, here / HOLDER_LOG)
    slots = {host.name: host.slots for host in lab.hosts()}
    hosts = [UpHost(name=host, slots=slots[host], pid=pid) for host, pid in pids.items()]
    remote_shell = here / "remote-shell"
    state = ActiveLab(
        name=name,
        description=lab,
        holder=started,
        holder_started=folder.started(started) or 0,
        holder_network=folder.network_of(started) or 0,
        rootless=rootless,
        hosts=hosts,
        remote_shell=str(remote_shell),
    )
    addresses = {host.name: (host.management_address, host.data_address) for host in lab.hosts()}
    cases = "\n".join(f"{'|'.join((host.name, *addresses[host.name]))}) pid={host.pid};;" for host in hosts)
    remote_shell.write_text(REMOTE_SHELL.format(cases=cases, name=name))
    remote_shell.chmod(0o755)
    emulation = Emulation(here, state)
    return _laid(emulation, wire(lab, pids))


def _laid(emulation: Emulation, wiring: Wiring) -> Emulation:
    """Set up links; return the lab with its relay recorded."""
    say(emulation, None, "ip", wiring.links)
    started = carry(emulation, wiring.ways)
    for host, lines in wiring.hosts.items():
        say(emulation, host, "ip", lines)
        # If the kernel does not let a route choose its congestion control, the default is used.
        emulation.run(host, ["ip", "-batch", "-"], given="\n".join(wiring.routes.get(host, [])))
    for place, lines in wiring.buckets.items():
        say(emulation, place, "tc", lines)
    return emulation.kept(emulation.state.model_copy(update={"relay": started}))


def say(emulation: Emulation, host: str | None, program: str, lines: Sequence[str]) -> None:
    """Run a batch of `ip` or `tc` commands on a host or in the fabric; ScopeError with the error message."""
    if not lines:
        return
    answer = emulation.run(host, [program, "-batch", "-"], given="\n".join(lines) + "\n")
    if answer.returncode != 0:
        raise ScopeError(f"lab {emulation.state.name}: {program} failed: {_complaint(answer.stderr, lines)}")


def carry(emulation: Emulation, ways: Sequence[Way]) -> Relay:
    """Let the relay, started if it does not run, carry these ways; frames in transit are still delivered."""
    running = emulation.state.relay
    names = ("relay.ways", "relay.log", "relay.json", TRAFFIC)
    ways_file, log, statistics, traffic = (emulation.folder / name for name in names)
    ways_file.write_text("".join(f"{way.line()}\n" for way in ways))
    log.write_text("")
    # A shell starts it in the background and prints its process number; the relay outlives the shell.
    start = 'setsid "$5" "$1" "$3" "$4" >>"$2" 2>&1 & echo $!'
    told = f"kill -HUP {running.pid}" if running else start
    words = ["sh", "-c", told + ' && until grep -q . "$2"; do sleep 0.01; done', "sh"]
    words += map(str, (ways_file, log, statistics, traffic, relay()))
    try:
        answer = emulation.run(None, words, timeout=10)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"lab {emulation.state.name}: its relay does not answer") from error
    if (said := log.read_text().strip()) != "ready":
        raise ScopeError(f"lab {emulation.state.name}: {said or answer.stderr}")
    return running or Relay(pid=int(answer.stdout), statistics=str(statistics))


def _start_holder(here: Path, lab: Lab, rootless: bool) -> subprocess.Popen[str]:
    spaces = _spaces(rootless)
    names = [host.name for host in lab.hosts()]
    with (here / HOLDER_LOG).open("w") as log:
        return subprocess.Popen(
            [*spaces, sys.executable, "-I", "-S", str(folder.HOLDER), str(here / folder.HOSTS), *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            errors="replace",
            start_new_session=True,
            cwd="/",
        )


def _first_line(holder: subprocess.Popen[str], log: Path) -> tuple[int, dict[str, int]]:
    assert holder.stdout is not None
    ready, _, _ = select.select([holder.stdout], [], [], TIMEOUT_S)
    line = holder.stdout.readline() if ready else ""
    if not line:
        raise ScopeError(f"no lab can be made here: {_last_line(log)}")
    said = json.loads(line)
    return said["holder"], said["hosts"]


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text().splitlines() if line.strip()]
    return lines[-1] if lines else "the namespaces did not come up in time"


def refusal() -> str:
    """Return why labs cannot be made here; empty if they can."""
    for tool, package in NEEDED.items():
        if shutil.which(tool) is None:
            return f"{tool}: not found; a lab needs it (Debian package {package})"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return f"{TUN}: cannot be opened; the links of a lab need it"
    complaints = [complaint for user in (False, True) if (complaint := _denied(user))]
    return f"namespaces are not allowed here: {complaints[-1]}" if len(complaints) == 2 else ""


def needs_user_namespace() -> bool:
    """Return whether this process needs a user namespace to make the others, as even root does in a container."""
    return bool(_denied(user=False))


def _denied(user: bool) -> str:
    """Return why the namespaces of a lab cannot be made, inside a user namespace or not; empty if they can."""
    words = [*_spaces(user), "true"]
    answer = captured(words, TIMEOUT_S)
    return "" if answer.returncode == 0 else answer.stderr.strip() or "no reason given"


def _spaces(user: bool) -> list[str]:
    below = ["--user", "--map-root-user"] if user else []
    return ["unshare", *below, "--mount", "--net", "--pid", "--fork", "--kill-child"]


def _hosts_file(lab: Lab) -> str:
    lines = ["127.0.0.1 localhost"]
    lines += [f"{host.management_address} {host.name}" for host in lab.hosts()]
    lines += [f"{host.data_address} d-{host.name}" for host in lab.hosts()]
    return "\n".join(lines) + "\n"


def _complaint(said: str, lines: Sequence[str]) -> str:
    """Return the error message of a batch with the line that caused it."""
    words = [line for line in said.splitlines() if line.strip()]
    number = next((word.rpartition(":")[2] for word in words if "Command failed" in word), "")
    line = f" ({lines[int(number) - 1]})" if number.isdigit() and int(number) <= len(lines) else ""
    return (words[0] if words else "no reason given") + line


def _forget(holder: subprocess.Popen[str]) -> None:
    """Leave a lab running after this process: close its pipes, do not wait for it."""
    for pipe in (holder.stdin, holder.stdout):
        if pipe is not None:
            pipe.close()
    holder.returncode = 0


def _end(holder: subprocess.Popen[str], name: str) -> None:
    """End a holder that this process started, wait for its end, and remove the lab's folder."""
    storage.release(folder.folder_of(name))
    folder.end_holders(name)
    holder.kill()
    holder.wait(folder.DEATH_S)
    for pipe in (holder.stdin, holder.stdout):
        if pipe is not None:
            pipe.close()
    folder.remove(name)


def relay() -> str:
    """Return the path of the relay, compiled by any C++ compiler (a lab needs no MPI); UsageError without one."""
    compiler = system_compiler("the links of a lab need a program that must be compiled")
    return str(compiled(Path(__file__).with_name("relay.cpp"), compiler))
