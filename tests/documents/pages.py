"""How the commands of each page are executed; what is not here runs as printed, in the page's directory."""

from __future__ import annotations

from tests.documents.ways import Page, Way, parsed

APP = "mpicc -g -O1 -o app tests/documents/programs/app.c"
SEVERAL = "scope run --case 'mpi.latency message_bytes=0,1Ki' --launches 4 --output runs/first > said 2>&1"
"""A run of few cases that can be compared."""
INTERRUPTED = (130,)
UNFAITHFUL = (0, 1)
"""On a busy machine links of a lab miss their rates, which the command says."""
HPL = """cat > HPL.dat << 'END'
HPLinpack benchmark input file
A small system
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
200          Ns
1            # of NBs
32           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
0            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
0            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
END
"""
SSH = """mkdir -p ~/.local/bin
cat > ~/.local/bin/ssh << 'END'
#!/bin/sh
while :; do case $1 in -[opl]) shift 2;; -*) shift;; *) break;; esac; done
host=$1
shift
exec "$OMPI_MCA_plm_rsh_agent" "$host" "cd; $*"
END
chmod +x ~/.local/bin/ssh
"""
"""The lab's own way to other hosts in place of ssh."""
PRIVATE_SRV = "mount -t tmpfs none /srv && mkdir -p /srv/www /srv/bench/runs /srv/results"
"""Only for the first host of the lab."""

ALONE = Way(before="scope lab fault grid --clear")
"""Each fault of a trunk is tried without the others."""

PACKAGES = parsed("installs packages of the system as root; .ci/run installs the same ones")
SPACK = parsed("needs Spack, which builds every dependency from its sources")
EASYBUILD = parsed("needs EasyBuild, which builds a tool chain from its sources")
IMAGE = parsed("needs Apptainer and the image of a distribution from a registry")
POSTGRESQL = parsed("needs a server named db1; tests/repository/test_postgresql.py has a server of its own")
BUILD = parsed("needs the build front end from a package registry; tests/test_wheel.py looks into the wheel")
INSTALLED = parsed("writes into /opt and /usr/local of the machine, whatever the test's directory")
ANOTHER_TEST = parsed("would run this test, or all others beside it")

PAGES: dict[str, Page] = {
    "README.md": Page(
        ways={
            "make run": Way(),
            "make test": ANOTHER_TEST,
            "make check": ANOTHER_TEST,
        },
        printed=("make run",),
        varying=r"^(   |\s+(warning|of|KiB))",
    ),
    "docs/tutorial/README.md": Page(
        ways={
            # The page has it in the tree, which a test does not change; it is compiled from outside all the same.
            ".venv/bin/scope run mpi.ring": Way(before="export SCOPE_EXTRA_BENCHMARKS=~/benchmarks"),
        },
    ),
    "docs/how-to/active-messages.md": Page(
        lab="nodes",
        before=f"{APP} && built=$(scope build --active-messages | sed -n 's/.*FI_PROVIDER_PATH=//p' | head -1)"
        ' && ln -s "$built" DIR',
        ways={
            "scope run --hosts": Way("lab"),
            "scope soak --time 12h": Way(shorter="--time 5s"),
            "scope lab up": Way(codes=UNFAITHFUL),
            "export": Way("lab"),
            "mpiexec": Way("lab"),
        },
    ),
    "docs/how-to/cluster.md": Page(
        lab="nodes",
        before="printf 'node1:2\\nnode2 slots=2\\n' > hosts",
        ways={
            "scope run --host": Way("lab"),
            "salloc": parsed("opens a shell for the next command, which the test runs inside salloc"),
            "scope run --launcher slurm": Way("job"),
            "scope run --submit": Way("slurm"),
            "scope run --each-host": Way("slurm"),
            "scope run --pairs": Way("slurm"),
            "scope run --resume runs/NAME": Way(
                before="scope run mpi.barrier --output runs/NAME & "
                "until [ -s runs/NAME/samples.jsonl ]; do sleep .1; done; kill -INT $!; wait || true",
            ),
        },
    ),
    "docs/how-to/compare.md": Page(
        ways={
            "scope compare --measure openmpi mpich": Way(shorter="--time 10s"),
            "scope compare --measure default.toml": Way(shorter="--time 5s"),
            "scope compare runs/before runs/after --confirm": Way(shorter="--time 5s"),
        },
        before=f"{SEVERAL} && mkdir clusters && for run in before after spring summer autumn; do"
        " cp -r runs/first runs/$run; done; for name in ours theirs others; do"
        " scope pack runs/first -o clusters/$name.zip; done",
    ),
    "docs/how-to/exchange.md": Page(
        before="export GITHUB_STEP_SUMMARY=summary.md; cp tests/imports/data/osu-3.4-latency.txt osu_latency.txt;"
        " cp tests/imports/data/imb-2018-mpi1.txt imb.txt;"
        " cp tests/imports/data/hpl-2.3-openmpi.txt HPL.out; mkdir textfiles; printf 'host1\\nhost2\\n' > hosts;"
        " smpicc -o program tests/documents/programs/app.c &&"
        " scope run mpi.latency mpi.bandwidth node.stream node.matrix_multiply --output runs/first &&"
        " for run in before after good a b cluster; do cp -r runs/first runs/$run; done",
        ways={
            'scope run --case "algorithm.matmul_cannon': Way(
                shorter="--binding none --oversubscribe --launches 2"
            ),
            "reframe": parsed("needs ReFrame; tests/exports compiles the check and compares its cases"),
            "extrap": parsed("needs Extra-P; tests/exports reads the exported lines"),
        },
    ),
    "docs/how-to/health.md": Page(
        lab="fleet",
        ways={
            "scope health --hosts": Way("lab", shorter="--hosts n[1-8]"),
            "scope health --launcher slurm": Way("job"),
            "scope health --lab o2": Way(shorter="--minutes 0.2"),
        },
        printed=("scope health --hosts",),
        varying=r"^(n\d|\s|Facts|\d+ of)",  # what was found in a simulated fleet
    ),
    "docs/how-to/keep.md": Page(
        lab="nodes",
        where="lab",
        before=PRIVATE_SRV + " && " + SSH + "mkdir -p home/results",
        ways={
            "createdb": POSTGRESQL,
            "scope repo rebuild --in": POSTGRESQL,
            "scope serve": Way("lab", until="http", codes=INTERRUPTED),
            "scope serve --runs": Way("lab", until="http", stays=True),
            "scope repo pull": Way("lab", before="scope repo push ~/results"),
            "scope anonymize": Way("lab", answer="y\n"),
        },
    ),
    "docs/how-to/lab.md": Page(
        before=APP,
        ways={
            "apt install": PACKAGES,
            "scope lab up": Way(codes=UNFAITHFUL),
            "scope lab fault grid --trunk grid-router --mtu": ALONE,
            "scope lab fault grid --trunk grid-router --pause": ALONE,
            "scope lab fault grid --trunk grid-router --police": ALONE,
            "scope lab fault grid --trunk grid-router --queue": ALONE,
        },
    ),
    "docs/how-to/linpack-nas.md": Page(
        lab="nodes",
        before=HPL,
        ways={
            "apt-get install": PACKAGES,
            "scope tune linpack --hosts": Way("lab"),
            "scope tune linpack --solution-time inf": Way(shorter="--solution-time 0.3s --trials 1 --launches 1"),
            "scope run application --module advanced": Way(until="launch 1 of", codes=INTERRUPTED),
            'scope run --case "application.npb_cg class=B': Way(until="launch 1 of", codes=INTERRUPTED),
            "scope tune linpack --resume": Way(before="ln -s $(readlink runs/latest) runs/NAME"),
        },
    ),
    "docs/how-to/monitor.md": Page(
        before=APP + " && for ranks in 1 2 4; do scope monitor -o run$ranks -- mpiexec -n $ranks ./app; done",
        ways={"scope monitor -o before -- srun": Way("job")},
        printed=("scope monitor -- mpiexec",),
    ),
    "docs/how-to/node-checks.md": Page(
        lab="fleet",
        where="lab",
        before=PRIVATE_SRV,
        ways={
            "scope health --hosts": Way("lab", shorter="--hosts n[1-8]"),
            "scope health --watch --hosts": Way("lab", shorter="--hosts n[1-8] --minutes 0.2"),
            "scope health --watch --launcher slurm": Way("slurm", shorter="--hosts n[1-2] --minutes 0.2"),
        },
    ),
    "docs/how-to/packages.md": Page(
        ways={
            "make wheel": BUILD,
            "spack": SPACK,
            "eb ": EASYBUILD,
            "apptainer": IMAGE,
            "python3 -m venv build-tools": BUILD,
            "build-tools": BUILD,
            "tar ": BUILD,
            "python3 -m venv /opt": INSTALLED,
            "/opt/scope": INSTALLED,
            "ln -s /opt": INSTALLED,
        }
    ),
    "docs/how-to/predict.md": Page(
        before="cp tests/documents/programs/app.c solver.c",
        ways={
            "scope run --case 'mpi.latency ranks=2 message_bytes=0,1Ki,16Ki": Way(shorter="--oversubscribe"),
            "scope run mpi.latency mpi.broadcast mpi.reduce algorithm": Way(shorter="--budget 0.1s --launches 2"),
            "scope predict runs/latest --algorithm shallow_water": parsed(
                "needs a core for each of four ranks, else no prediction is validated; tests/cli/test_predict.py"
            ),
            "scope simulate measured 'mpi.*' --hosts 1024": Way(shorter="--limit 10m"),
            "scope reproduce param-node --full": Way(until="launch 1 of", codes=INTERRUPTED),
            "scope reproduce --all": Way(until="launch 1 of", codes=INTERRUPTED),
        },
    ),
    "docs/how-to/programs.md": Page(
        lab="nodes",
        where="lab",
        before=f"{APP} && cp app waves",
        ways={
            "scope campaign waves.toml -o": Way("lab", until="study/runs/00003", codes=INTERRUPTED),
            "scope campaign --resume": Way("lab", until="study/runs/00008", codes=INTERRUPTED),
            "scope placement --lab": Way(),
            "scope soak --time": Way("lab", shorter="--time 5s"),
            "scope soak --runs": Way("lab", shorter="--runs 3"),
        },
    ),
    "docs/how-to/devices.md": Page(
        before="export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$PWD/kernels",
        ways={"apt-get install": parsed("installs packages of the system, which the tests suppose")},
    ),
    "docs/how-to/storage.md": Page(
        lab="nodes",
        ways={
            "scope run storage --module standard --storage $SCRATCH --hosts": Way("lab", shorter="--ranks 1,2"),
            "scope run storage --module standard": Way(shorter="--ranks 1,2"),
            "scope run --case 'storage.write": Way(shorter="--oversubscribe"),
            "scope run storage node.disk": Way(shorter="--ranks 1,2"),
        },
    ),
    "docs/how-to/timer.md": Page(),
    "docs/how-to/topology.md": Page(
        lab="nodes",
        where="lab",
        before="scope topology show tests/documents/grid.toml && "
        "ln -s \"$(scope build --collectives | sed -n 's/^estimator *//p')\" .venv/bin/scope-estimate",
        printed=("scope topology show tests/documents/grid.toml", "scope topology load"),
    ),
}
