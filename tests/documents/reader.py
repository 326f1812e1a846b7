"""Somebody who types the commands of a page, in a directory that has what a checkout has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hpcscope.lab import description, emulation
from tests.documents import brief_scope
from tests.documents.blocks import Block
from tests.documents.commands import ROOT
from tests.documents.ways import BRIEF, LABS, Page, Way
from tests.lab.small_lab import refuse_without_namespaces
from tests.launch import slurm_cluster
from tests.patience import PATIENCE_S, until

TOOLS = Path(sysconfig.get_path("scripts"))
SHELL = """set -o pipefail
if [ -f .exported.{where} ]; then . ./.exported.{where}; fi
{{
{text}
}}
code=$?
export -p | grep -v SCOPE_DOCUMENTED > .exported.{where}
exit $code"""
"""What is exported stays for the next command of the page in the same place."""
Inside = Callable[[list[str]], tuple[list[str], dict[str, str]]]
"""What the words of a command become somewhere, and the variables that it has there."""


@dataclass
class Ended:
    """A command that ended."""

    text: str
    code: int
    output: str


@dataclass
class Reader:
    """Somebody in a directory."""

    folder: Path
    own: Path
    """Where its labs are; a short path, since the names of sockets are limited."""
    inside: dict[str, Inside]
    ended: list[Ended] = field(default_factory=list)
    staying: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def leave(self) -> None:
        """End what stayed, and every lab that is up."""
        for started in self.staying:
            interrupt(started)
            started.wait(PATIENCE_S)
        self.type(
            "for lab in $(scope lab list | awk '$2 == \"up\" {print $1}'); do scope lab down $lab; done", Way()
        )

    def type(self, text: str, way: Way) -> Ended:
        """Type a command and wait until it ends; what it starts in the background ends with the page."""
        if way.before:
            made = self.type(way.before, Way(way.where))
            assert made.code == 0, made.output
        shell = SHELL.format(where=way.where, text=text)
        words, variables = self.inside[way.where](["bash", "-c", shell])
        out = self.folder / f".printed.{len(self.ended)}"
        with out.open("wb") as file:
            started = subprocess.Popen(
                words,
                cwd=self.folder,
                env={**variables, **self._environment(way)},
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            assert started.stdin
            started.stdin.write(way.answer.encode())
            started.stdin.close()
            if way.until:
                until(lambda: self._came(out, way.until) or started.poll() is not None, f"{text}: {way.until}")
                if way.stays:
                    self.staying.append(started)
                else:
                    interrupt(started)
            code = 0 if way.stays else started.wait(PATIENCE_S)
        self.ended.append(Ended(text, code, out.read_text(errors="replace")))
        return self.ended[-1]

    def _came(self, out: Path, what: str) -> bool:
        return what in out.read_text(errors="replace") or any(self.folder.glob(what))

    def write(self, block: Block) -> None:
        """Write a file of the page; a new benchmark goes into a directory of its own, not into the checkout."""
        name = f"home/benchmarks/{Path(block.name).name}" if block.name.startswith("measure/") else block.name
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(block.lines) + "\n")

    def _environment(self, way: Way) -> dict[str, str]:
        home = self.folder / "home"
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "SCOPE_", "XDG_"))}
        system = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        path = f"{self.folder}/.venv/bin:{home}/.local/bin:{system}"
        return {
            **own,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(self.own),
            "SCRATCH": str(self.folder / "scratch"),
            "PATH": path,
            "SCOPE_CACHE": os.environ.get("SCOPE_CACHE", str(Path("~/.cache/scope").expanduser())),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            brief_scope.BRIEF: json.dumps(BRIEF),
            brief_scope.SHORTER: way.shorter,
        }


def interrupt(command: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C: all processes in the foreground get it, except what enters a lab, which forwards nothing."""
    if command.poll() is None:
        group = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        for process in group:
            with suppress(ProcessLookupError):
                if os.getpgid(process) == command.pid and Path(f"/proc/{process}/comm").read_text() != "nsenter\n":
                    os.kill(process, signal.SIGINT)


@contextmanager
def seated(page: Page, folder: Path) -> Iterator[Reader]:
    """Yield a reader of a page, in an empty folder; what the page supposes is there."""
    (folder / ".venv/bin").mkdir(parents=True)
    for part in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines():
        top = part.partition("/")[0]
        if not (folder / top).exists():
            (folder / top).symlink_to(ROOT / top)
    for name in ("home/.local/bin", "runs", "scratch"):
        (folder / name).mkdir(parents=True, mode=0o700)
    for stamp in ("product", "development"):
        (folder / ".venv" / stamp).touch()
    for tool in ("python", "pip"):
        (folder / ".venv/bin" / tool).symlink_to(TOOLS / tool)
    scope = folder / ".venv/bin/scope"
    scope.write_text(f'#!/bin/sh\nexec {sys.executable} {brief_scope.__file__} {TOOLS}/scope "$@"\n')
    scope.chmod(0o755)
    with ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="page-")))
        reader = Reader(folder, own, _places(page, folder, stack))
        stack.callback(reader.leave)
        if page.before:
            ended = reader.type(page.before, Way("lab" if page.lab else "here"))
            assert ended.code == 0, ended.output
        yield reader


def _places(page: Page, folder: Path, stack: ExitStack) -> dict[str, Inside]:
    used = {page.where, *(way.where for way in page.ways.values())}
    places: dict[str, Inside] = {"here": lambda words: (words, {})}
    if page.lab:
        refuse_without_namespaces()
        (folder.parent / "pages.toml").write_text(LABS[page.lab])
        lab = stack.enter_context(emulation.temporary(*description.read(str(folder.parent / "pages.toml"))))
        first = lab.state.hosts[0].name
        variables = {key: text for key, text in lab.environment.items() if os.environ.get(key) != text}
        places["lab"] = lambda words: (
            lab.command(["env", f"--chdir={folder}", *_set(variables), *words], first),
            {},
        )
    if used & {"slurm", "job"}:
        if lack := slurm_cluster.missing():
            pytest.skip(lack)
        # Its sockets have long names, of which the kernel takes 108 bytes.
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        cluster = stack.enter_context(slurm_cluster.running(short))
        salloc = ["salloc", "--quiet", "--nodes", "2", "--exclusive"]
        places["slurm"] = lambda words: (cluster.command(folder, *words), {})
        places["job"] = lambda words: (cluster.command(folder, *salloc, *words), {})
    return places


def _set(variables: dict[str, str]) -> list[str]:
    """Return them as words of `env`: a lab's own come after those of the caller."""
    return [f"{key}={text}" for key, text in variables.items()]
