"""What MPI libraries print if they cannot use shared memory, or copies between processes."""

import re
from collections import defaultdict

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.names import several

_MOST_CHARACTERS = 1 << 20
"""Maximum length of the output that is searched: a library may repeat its complaint for each message."""
_KINDS = {
    "intra-node-memory-short": (
        re.compile(r"not enough space for (?P<what>/\S+) \(the shared-memory backing"),
        "Open MPI found too little room for shared memory ({what}): messages inside a host took a slower path",
        "Remove files from this directory, or enlarge it (in a container `--shm-size 1g`).",
    ),
    "intra-node-copies-refused": (
        re.compile(r"\[\S+:\d+\] (?P<what>(?:Read|Write) -1, expected \d+, errno = \d+)"),
        "The kernel refuses copies between processes ({what}): large messages inside a host are slow",
        "Allow process_vm_readv (in a container `--cap-add SYS_PTRACE`), or turn the copies off:"
        " `OMPI_MCA_smsc=^cma`; before Open MPI 5, `OMPI_MCA_btl_vader_single_copy_mechanism=none`.",
    ),
}
"""For each code: complaint, as Open MPI 4.1.4 and 5.0.11 print it, title and advice."""


def find(run: Run) -> list[Finding]:
    """Find complaints in the output of the launches; one finding per kind."""
    seen: dict[str, dict[str, str]] = defaultdict(dict)
    for file in sorted(run.directory.launches.glob("*/std*.txt")):
        with file.open(errors="replace") as output:
            text = output.read(_MOST_CHARACTERS)
        for code, (complaint, _, _) in _KINDS.items():
            if match := complaint.search(text):
                seen[code].setdefault(file.parent.name, match["what"])
    return [
        Finding(
            code=code,
            severity="warning",
            title=_KINDS[code][1].format(what=next(iter(launches.values()))),
            where={"launch": several(list(launches)), "layer": "mpi"},
            evidence=[Evidence(what="launches in which the library printed this message", value=len(launches))],
            advice=_KINDS[code][2],
        )
        for code, launches in seen.items()
    ]
