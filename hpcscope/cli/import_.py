"""`scope import`: results of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.options import Output


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[FORMAT] FILE...", help="Outputs of other programs; by default, Scope detects the format."
        ),
    ],
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of ranks, if the output does not contain it.")
    ] = None,
    output: Output = None,
) -> None:
    """Import outputs of other programs as a run or monitored run, and show it.

    If several outputs contain the same case, each counts as one launch of it. Values that a program does not
    print are marked unknown. Unrecognized lines are listed with file and line. Values have the origin "imported".

    \b
    MPI and networks:
      osu            OSU Micro-Benchmarks
      imb            Intel MPI Benchmarks
      reprompi       ReproMPI
      skampi         SKaMPI
      netpipe        NetPIPE
      netperf        netperf
      perftest       perftest (ib_write_bw, ...)
      nccl-tests     NCCL and RCCL tests
      gpcnet         GPCNeT
      hp2p           hp2p
      linktest       LinkTest

    \b
    Nodes:
      stream         STREAM
      babelstream    BabelStream
      lmbench        lmbench
      likwid-bench   likwid-bench

    \b
    Whole programs:
      hpl            HPL
      hpl-mxp        HPL-MxP of NVIDIA
      hpcg           HPCG
      hpcc           HPC Challenge
      npb            NAS Parallel Benchmarks
      reframe        ReFrame: run reports
      ramble         Ramble and Benchpark: results of a workspace

    \b
    Files:
      ior            IOR
      mdtest         mdtest
      io500          IO500
      fio            fio

    \b
    Profiles:
      mpip           mpiP, as a monitored run
      ipm            IPM
      caliper        Caliper: split JSON
      darshan        Darshan, as darshan-parser prints it

    \b
    Scope:
      csv, jsonl     what `scope export` wrote
    """  # noqa: D301  # paragraphs that are kept as they stand
    from hpcscope.cli.monitor import show_profile
    from hpcscope.cli.show import show_run
    from hpcscope.engine.analysis import kind_of
    from hpcscope.engine.imports import imported, names
    from hpcscope.findings.results import Run
    from hpcscope.report.profile import contents
    from hpcscope.report.terminal import verdict

    given = files[0] if len(files) > 1 and (files[0] in names() or not Path(files[0]).exists()) else None
    folder = imported(given, [Path(file) for file in files[given is not None :]], ranks, output)
    if kind_of(folder) == "monitored":
        show_profile(contents.read(folder))
    else:
        show_run(folder)
        verdict.show(Run(folder))
