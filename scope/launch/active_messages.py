"""What `transport=active-messages` means for a launch: the provider that carries every MPI message."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable

from scope.build import active_messages
from scope.errors import UsageError
from scope.lab.active import INTERFACE, active
from scope.launch.launcher import ACTIVE_MESSAGES, MpiProgram, Site
from scope.machine.machine import MpiInstallation
from scope.mpi import registry
from scope.mpi.implementation import Conditions


def check(transports: Iterable[str], site: Site) -> None:
    """Compile the provider where a launch needs it; UsageError where it cannot be had, or has no wire."""
    if ACTIVE_MESSAGES not in transports:
        return
    if not site.one_host and not site.interface:
        raise UsageError(
            f"transport = {ACTIVE_MESSAGES}: between hosts an Ethernet interface must be named"
            " (launcher.interface, --interface)"
        )
    active_messages.provider_for(site.mpi)


def variables(program: MpiProgram, site: Site) -> dict[str, str]:
    """Return the variables by which the ranks find the provider, its wire and the key of this launch.

    The key is a secret: it travels in the environment, never in a command line. Inside one host messages need no
    wire. `check` says beforehand whether the provider can be had.
    """
    if program.transport != ACTIVE_MESSAGES:
        return {}
    return _of_provider(site.mpi, None if site.one_host else site.interface)


def around(mpi: MpiInstallation) -> dict[str, str]:
    """Return all variables under which a command of the user starts programs of `mpi` over active messages.

    Between hosts the wire is FI_SCOPE_IFACE, in a lab its emulated network.
    """
    lab = active()
    interface = os.environ.get("FI_SCOPE_IFACE") or (INTERFACE if lab else None)
    family = registry.family_of(mpi.name)
    conditions = Conditions(
        version=mpi.version,
        provider=active_messages.PROVIDER_NAME,
        shared_kernel=lab is not None,
        one_host=interface is None,
        interface=interface,
    )
    return {**(family.environment(conditions) if family else {}), **_of_provider(mpi, interface)}


def _of_provider(mpi: MpiInstallation, interface: str | None) -> dict[str, str]:
    return {
        "FI_PROVIDER_PATH": str(active_messages.provider_for(mpi).parent),
        "FI_PROVIDER": active_messages.PROVIDER_NAME,
        "FI_SCOPE_KEY": os.environ.get("FI_SCOPE_KEY") or secrets.token_hex(16),
        **({"FI_SCOPE_IFACE": interface} if interface else {}),
    }
