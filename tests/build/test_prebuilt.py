"""Which program that came with Scope an MPI gets: by the names of its libraries. Nothing is compiled."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from hpcscope.build import elf, installations, native, prebuilt
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.rundirectory import write_json

BANNERS = {
    "openmpi": "mpiexec (Open MPI) 5.0.11",
    "mpich": "HYDRA build details:\n    Version:   5.0.2",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929",
}


def library(path: Path, soname: str, needed: Iterable[str] = ()) -> Path:
    """A file of ELF with nothing but the names of libraries."""
    names = [soname, *needed]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    places = [strings.index(b"\0" + name.encode() + b"\0") + 1 for name in names]
    dynamic = 64 + 2 * 56
    entries = [
        (14, places[0]),
        *((1, place) for place in places[1:]),
        (5, dynamic + 16 * (len(names) + 2)),
        (0, 0),
    ]
    body = b"".join(struct.pack("<QQ", *entry) for entry in entries) + strings
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0
    )
    # The whole file is loaded 0x1000 after where it stands in it.
    begin = 0x1000
    loaded = struct.pack("<IIQQQQQQ", 1, 4, 0, begin, 0, dynamic + len(body), dynamic + len(body), 16)
    table = struct.pack("<IIQQQQQQ", 2, 4, dynamic, begin + dynamic, 0, 16 * len(entries), 16 * len(entries), 16)
    body = body.replace(struct.pack("<QQ", *entries[-2]), struct.pack("<QQ", 5, entries[-2][1] + begin))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + loaded + table + body)
    return path


def installed(prefix: Path, name: str, *sonames: str) -> MpiInstallation:
    """An MPI without a compiler: a launcher that says its name, and libraries."""
    launcher = prefix / "bin" / "mpiexec"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(f"#!/bin/sh\necho '{BANNERS[name]}'\n")
    launcher.chmod(0o755)
    for soname in sonames:
        library(prefix / "lib" / soname, soname)
    return MpiInstallation(name=name, version="1", origin="path", compiler=str(launcher), launcher=str(launcher))


@pytest.fixture(autouse=True)
def came_with_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs for every ABI, as a wheel has them."""
    for name in prebuilt.OWN_FLAGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "package"
    for abi in prebuilt.ABIS:
        folder = package / abi
        folder.mkdir(parents=True)
        (folder / native.PROGRAM).write_text(f"for {abi}\n")
        mpi = MpiInstallation(name="mpich", version="5", origin="asked", compiler="mpicxx", launcher="mpiexec")
        write_json(
            folder / prebuilt.RECORD,
            NativeBuild(
                fingerprint=f"of-{abi}",
                program=native.PROGRAM,
                compiler="g++ 12",
                flags="-O2",
                mpi=mpi,
                built_unix_s=1,
                prebuilt=abi,
            ),
        )
    monkeypatch.setattr(prebuilt, "folders", lambda: [package / abi for abi in prebuilt.ABIS])
    return package


def test_names_are_read_from_a_library(tmp_path: Path) -> None:
    made = library(tmp_path / "libx.so", "libx.so.1", ["libc.so.6", "libmpi.so.12"])
    assert elf.names(made) == ("libx.so.1", ("libc.so.6", "libmpi.so.12"))
    content = made.read_bytes()
    for damaged in (
        b"",
        b"#!/bin/sh\n",
        content[:70],
        content[:200],
        content[:-1].replace(b"libmpi", b"\xff\xffbmpi"),
    ):
        made.write_bytes(damaged)
        assert elf.names(made).soname in ("", "libx.so.1")


@pytest.mark.parametrize(
    ("name", "sonames", "abi"),
    [
        ("openmpi", ["libmpi.so.40"], "libmpi.so.40"),
        ("openmpi", ["libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"], "libmpi.so.40"),
        ("openmpi", ["libmpi.so.60", "libmpi_abi.so.1"], "libmpi_abi.so.1"),
        ("mpich", ["libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1"], "libmpi.so.12"),
        ("mpich", ["libmpich.so.12"], "libmpi.so.12"),
        ("intelmpi", ["libmpi.so.12", "libmpi_ilp64.so.4"], "libmpi.so.12"),
        ("intelmpi", ["libmpi_abi.so.1"], "libmpi_abi.so.1"),
        ("openmpi", ["libmpi.so.12"], None),
        ("mpich", ["libmpi.so.13"], None),
        ("mpich", [], None),
    ],
)
def test_the_library_s_own_abi_decides(name: str, sonames: list[str], abi: str | None, tmp_path: Path) -> None:
    fitting = prebuilt.fitting(installed(tmp_path / "mpi", name, *sonames))
    assert (fitting.abi if fitting else None) == abi


def test_the_name_inside_the_library_counts(tmp_path: Path) -> None:
    mpi = installed(tmp_path / "mpi", "mpich")
    library(tmp_path / "mpi/lib/libmpi.so.12", "libmpi.so.40")
    assert prebuilt.fitting(mpi) is None


def test_a_launcher_that_is_a_link_leads_to_its_library(tmp_path: Path) -> None:
    mpi = installed(tmp_path / "opt/mpi", "mpich", "libmpi.so.12")
    link = tmp_path / "usr/bin/mpiexec"
    link.parent.mkdir(parents=True)
    link.symlink_to(mpi.launcher)
    fitting = prebuilt.fitting(mpi.model_copy(update={"compiler": str(link), "launcher": str(link)}))
    assert fitting is not None
    assert fitting.library == tmp_path / "opt/mpi/lib/libmpi.so.12"


def test_the_program_stands_beside_links_to_the_library(tmp_path: Path) -> None:
    mpi = installed(tmp_path / "mpi", "mpich", "libmpich.so.12")
    made = native.build(mpi)
    program = Path(made.program)
    assert (made.prebuilt, made.mpi) == ("libmpi.so.12", mpi)
    assert program.read_text() == "for libmpi.so.12\n"
    assert program.is_relative_to(tmp_path / "cache")
    assert (program.parent / "mpi").readlink() == tmp_path / "mpi/lib"
    assert (program.parent / "mpi-name/libmpi.so.12").readlink() == tmp_path / "mpi/lib/libmpich.so.12"
    assert native.build(mpi) == made
    assert native.kept(mpi) == made
    assert "libmpi.so.12" in made.source


def test_own_flags_and_further_benchmarks_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installed(tmp_path / "mpi", "mpich", "libmpi.so.12")
    with_compiler = mpi.model_copy(update={"compiler": str(tmp_path / "mpi/bin/mpicxx")})
    assert prebuilt.fitting(with_compiler) is not None
    monkeypatch.setenv("CXXFLAGS", "-O3")
    assert prebuilt.fitting(with_compiler) is None
    assert prebuilt.fitting(mpi) is not None
    (tmp_path / "one.cpp").touch()
    monkeypatch.setenv(native.EXTRA_BENCHMARKS, str(tmp_path))
    with pytest.raises(UsageError, match=r"must be compiled for mpich 1, .*mpiexec has no working mpicxx"):
        native.build(mpi)


def test_a_launcher_is_enough_to_find_an_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = installed(tmp_path / "mpi", "intelmpi", "libmpi.so.12")
    for asked in (mpi.launcher, str(tmp_path / "mpi")):
        found = installations.find(asked)
        assert (found.name, found.version, found.launcher) == ("intelmpi", "2021.19.0", mpi.launcher)
        assert not found.compiles
    monkeypatch.setenv("PATH", f"{tmp_path}/mpi/bin:/usr/bin:/bin")
    assert installations.find("intelmpi").launcher == mpi.launcher
    # A wrapper without the compiler behind it, as on a machine without development files.
    wrapper = tmp_path / "mpi/bin/mpicxx"
    wrapper.write_text("#!/bin/sh\necho 'g++: not found' >&2; exit 1\n")
    wrapper.chmod(0o755)
    assert installations.find().launcher == mpi.launcher
    (tmp_path / "mpi/lib/libmpi.so.12").unlink()
    with pytest.raises(UsageError, match="g\\+\\+: not found"):
        installations.find(str(wrapper))


def test_without_programs_that_came_with_scope_a_launcher_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installed(tmp_path / "mpi", "mpich", "libmpi.so.12")
    monkeypatch.setattr(prebuilt, "folders", lambda: [])
    with pytest.raises(UsageError, match="no compiler; no precompiled"):
        installations.find(mpi.launcher)
