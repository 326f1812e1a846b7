"""The values were printed by another program, which does not print everything."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.names import several

SHOWN = 8


def find(run: Run) -> Found:
    """Report which program printed the values of an imported run, and what was not printed."""
    imported = run.record.imported
    if imported is None:
        return
    programs = list(dict.fromkeys(program for file in imported.files for program in file.programs))
    yield Finding(
        code="imported",
        about="measurement",
        severity="information",
        title=f"{several(programs)} printed the values, but not: {', '.join(imported.missing)}",
        where={"file": imported.files[0].name},
        evidence=[
            *(Evidence(what=file.name, value=", ".join(file.programs)) for file in imported.files[:SHOWN]),
            *(Evidence(what="difference from Scope", value=difference) for difference in imported.differences),
        ],
        advice="Values without repetitions have no interval, so a difference may be due to chance."
        " To get a verdict, measure the same cases with `scope run`.",
    )
