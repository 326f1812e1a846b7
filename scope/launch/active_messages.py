"""What `transport=active-messages` means for a launch: the provider that carries every MPI message."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from scope.build import active_messages
from scope.errors import UsageError
from scope.launch.launcher import ACTIVE_MESSAGES, MpiProgram, Site


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
    wire = {} if site.one_host else {"FI_SCOPE_IFACE": site.interface or ""}
    return {
        "FI_PROVIDER_PATH": str(active_messages.provider_for(site.mpi).parent),
        "FI_PROVIDER": active_messages.PROVIDER_NAME,
        "FI_SCOPE_KEY": secrets.token_hex(16),
        **wire,
    }
