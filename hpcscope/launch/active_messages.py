"""What `transport=active-messages` means for a launch: the provider that carries every MPI message.

`around` is for commands that start their own ranks; it also supports TCP.
"""

import os
import secrets
from collections.abc import Iterable

from hpcscope.build import active_messages
from hpcscope.build.mpi import registry
from hpcscope.build.mpi.implementation import Conditions
from hpcscope.errors import UsageError
from hpcscope.lab.active import INTERFACE, ActiveLab, active
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.machine.machine import MpiInstallation
from hpcscope.plan.case import over_active_messages
from hpcscope.settings.transports import ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL

SETTINGS = ("FI_SCOPE_WIRE", "FI_SCOPE_PEER_TIMEOUT_S", "FI_SCOPE_EAGER_BYTES", "FI_SCOPE_PROGRESS")
"""Variables that users may set for the provider. A launcher exports variables to other hosts only if told to."""


def check(transports: Iterable[str], site: Site) -> None:
    """Compile the provider if a launch needs it; UsageError if it cannot be built, or has no wire."""
    if not any(map(over_active_messages, transports)):
        return
    if not site.one_host and not site.interface:
        raise UsageError(
            f"transport = {ACTIVE_MESSAGES}: name the hosts' Ethernet interface (launcher.interface, --interface)"
        )
    active_messages.provider_for(site.mpi)


def variables(program: MpiProgram, site: Site) -> dict[str, str]:
    """Return the variables by which the ranks find the provider, its wire and the key of this launch.

    The key is a secret: it travels in the environment, never in a command line. Inside one host messages need no
    wire. `check` finds out beforehand whether the provider is available.
    """
    if not over_active_messages(program.transport):
        return {}
    return _of_provider(site.mpi, None if site.one_host else site.interface, program.transport)


def around(mpi: MpiInstallation, transport: str = ACTIVE_MESSAGES, lab: ActiveLab | None = None) -> dict[str, str]:
    """Return all variables with which a user's command starts programs of `mpi` over a transport.

    `transport`: tcp, active-messages or active-messages.no-flow-control. Between hosts the wire of active messages
    is FI_SCOPE_IFACE, in a lab (`lab`, else the one of this process) its emulated network.
    """
    lab = lab or active()
    provided = over_active_messages(transport)
    interface = (os.environ.get("FI_SCOPE_IFACE") if provided else None) or (INTERFACE if lab else None)
    family = registry.family_of(mpi.name)
    conditions = Conditions(
        version=mpi.version,
        tcp=not provided,
        provider=active_messages.PROVIDER_NAME if provided else None,
        shared_kernel=lab is not None,
        one_host=provided and interface is None,
        interface=interface,
    )
    variables = family.environment(conditions) if family else {}
    return variables | (_of_provider(mpi, interface, transport) if provided else {})


def _of_provider(mpi: MpiInstallation, interface: str | None, transport: str) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in SETTINGS if name in os.environ},
        "FI_PROVIDER_PATH": str(active_messages.provider_for(mpi).parent),
        "FI_PROVIDER": active_messages.PROVIDER_NAME,
        "FI_SCOPE_KEY": os.environ.get("FI_SCOPE_KEY") or secrets.token_hex(16),
        **({"FI_SCOPE_IFACE": interface} if interface else {}),
        **({"FI_SCOPE_FLOW_CONTROL": "0"} if transport == WITHOUT_FLOW_CONTROL else {}),
    }
