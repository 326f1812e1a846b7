"""Hosts whose address a launcher could not find: refused before it starts, with a clearer message than its own."""

import os
import socket

from hpcscope.build.libraries import ask
from hpcscope.errors import UsageError
from hpcscope.lab.active import active
from hpcscope.launch import schedulers
from hpcscope.launch.launcher import MPIEXEC, Site


def refuse_unknown(site: Site) -> None:
    """Raise UsageError naming the first host whose address this host cannot find.

    Hosts of a batch job, and those of a remote shell that replaces ssh, need no address here.
    """
    lab = active()
    for host in site.hosts if lab is not None else ():
        if lab is not None and lab.host(host.name) is None and _unknown(host.name):
            known = ", ".join(up_host.name for up_host in lab.hosts)
            raise UsageError(
                f"launcher.hosts = {host.name}: is not a host of lab {lab.name}; must be one of {known}"
            )
    steered = any(name in os.environ for name in site.family.launching("", ""))
    if lab or steered or site.remote_shell or site.kind != MPIEXEC or schedulers.allocation():
        return
    for host in site.hosts:
        if ":" in host.name:
            raise UsageError(
                f"launcher.hosts = {host.name}: mpiexec reads the part after a colon as slots; must be an IPv4 "
                "address or a name (/etc/hosts can give a name to this address)"
            )
        if host.name != os.uname().nodename and (why := _unknown(host.name)) and not _ssh_knows(host.name):
            raise UsageError(
                f"launcher.hosts = {host.name}: has no address here ({why}); must be a host's name or address"
            )


def _unknown(name: str) -> str:
    """Return why a name has no address; empty if it has one."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or "not a host name"
    return ""


def _ssh_knows(name: str) -> bool:
    """Return whether ssh's settings redirect a name: to another name, or through another host."""
    settings = dict(line.partition(" ")[::2] for line in ask(["ssh", "-G", name]).splitlines())
    if settings.get("proxyjump", "none") != "none" or settings.get("proxycommand", "none") != "none":
        return True
    other = settings.get("hostname", name)
    return other != name and not _unknown(other)
