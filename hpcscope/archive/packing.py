"""Packing of a run into one file to send or archive, and unpacking: a zip archive with the directory of the run.

Archived runs are compact: the whole zip is compressed (xz), without files that can be made from the rest.
An archive may come from anyone: SECURITY.md says what is refused.
"""

import lzma
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from hpcscope.archive.folder import SUFFIX as COMPACT
from hpcscope.archive.runs import MARKS
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.names import refuse_odd_name
from hpcscope.private import UNPACKED, temporary_folder
from hpcscope.rundirectory import RunDirectory
from hpcscope.strict import printable

SUFFIX = ".zip"
PRESET = 1
"""Preset of xz: 1 shrinks a baseline run to a tenth in 1 s; 3 takes 5 s and gains little."""
MOST_MEMORY_BYTES = 1 << 27
"""Maximum memory for decompressing xz."""
MOST_FILES = 100_000
MOST_BYTES = 16 * 1024**3
LONGEST_PATH = 1000
_LEFT_OUT = {".lock", UNPACKED}
_MADE_FROM_THE_REST = {RunDirectory(Path()).report.name, RunDirectory(Path()).journal.name}
_TYPES = {0, stat.S_IFREG, stat.S_IFDIR}
"""Permitted types of entries in Unix encoding; other systems write 0."""


def pack(run: Path, output: Path | None = None) -> Path:
    """Write all files of a run's directory into one archive and return its path.

    `output`: default NAME.zip in the current directory. Links and special files are left out. Raises UsageError if
    the directory is not a run or the archive exists; ScopeError if a file cannot be read or written.
    """
    folder = run.resolve()
    if not any((folder / mark).is_file() for mark in MARKS):
        raise UsageError(f"{run}: is not a run: must contain one of {', '.join(MARKS)}")
    target = output or Path(folder.name + SUFFIX)
    files = sorted(files_of(folder))
    _refuse_large(str(run), len(files), sum(file.lstat().st_size for file in files), MOST_BYTES)
    top = refuse_odd_name("the directory of the run", folder.name)
    try:
        with target.open("xb") as opened:
            try:
                _write_archive(opened, zipfile.ZIP_DEFLATED, folder, files, top)
            except BaseException:  # including an interrupt
                target.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise UsageError(f"{target}: exists; must be a new file (--output)") from error
    except OSError as error:
        raise ScopeError(f"{error.filename or target}: cannot be packed: {error.strerror or error}") from error
    return target


def pack_compactly(run: Path, top: str, opened: BinaryIO) -> None:
    """Write a run to an open file, compressed as a whole, without files that can be made from the rest.

    `top`: name of the top-level directory in the archive. Raises UsageError if the run is too large; OSError.
    """
    folder = run.resolve()
    files = [file for file in sorted(files_of(folder)) if file.name not in _MADE_FROM_THE_REST]
    _refuse_large(str(run), len(files), sum(file.lstat().st_size for file in files), MOST_BYTES)
    with lzma.open(opened, "wb", preset=PRESET) as compressed:
        _write_archive(compressed, zipfile.ZIP_STORED, folder, files, top)


def unpack(file: Path, parent: Path) -> Path:
    """Unpack a packed run into a new directory of its own name below `parent`, and return that directory.

    Raises UsageError if the file is not a packed run or the directory exists; ScopeError if the disk is full.
    A refused archive leaves nothing behind.
    """
    with naming(file, "cannot be read", UsageError):
        file.open("rb").close()
    with naming(parent):
        parent.mkdir(parents=True, exist_ok=True)
        # The archive is unpacked next to its final place, so that the last step is a rename.
        beside = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=parent))
    try:
        made = _unpacked(file, beside, MOST_BYTES)
        target = parent / made.name
        if target.exists() or target.is_symlink():
            raise UsageError(f"{target}: exists; choose another directory with --in")
        (made / UNPACKED).write_text(f"{file.name}\n", encoding="utf-8", errors="backslashreplace")
        made.rename(target)
    except OSError as error:
        raise ScopeError(f"{parent}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


@contextmanager
def opened(run: Path, most_bytes: int | None = None) -> Iterator[Path]:
    """Yield the directory of a run; a packed run is unpacked to a private, temporary directory.

    Raises UsageError if the unpacked run is larger than `most_bytes`, by default `MOST_BYTES`.
    """
    if not run.is_file():
        yield run
        return
    with temporary_folder("packed") as folder:
        yield _unpacked(run, folder, MOST_BYTES if most_bytes is None else most_bytes)


def _write_archive(opened: IO[bytes], method: int, folder: Path, files: list[Path], top: str) -> None:
    with zipfile.ZipFile(opened, "w", method, strict_timestamps=False) as archive:
        for file in files:
            archive.write(file, f"{top}/{file.relative_to(folder).as_posix()}")


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files of a run without links and special files."""
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent, name)
            if name not in _LEFT_OUT and stat.S_ISREG(file.lstat().st_mode):
                yield file


def _unpacked(file: Path, parent: Path, most_bytes: int) -> Path:
    """Unpack a file below an empty directory and return the directory of the run."""
    if file.exists() and not file.is_file():  # reading some devices never ends
        raise UsageError(f"{file}: not a packed run: must be a file")
    inside = parent / "inside"
    inside.mkdir()
    if not file.name.endswith(COMPACT):
        return _extracted(file, file, inside, most_bytes)
    archive = _expanded(file, parent / "archive.zip", most_bytes)
    made = _extracted(file, archive, inside, most_bytes)
    archive.unlink()
    return made


def _expanded(file: Path, archive: Path, most_bytes: int) -> Path:
    """Decompress a compact file to a zip archive and return the archive's path."""
    try:
        with file.open("rb") as packed, archive.open("xb") as written:
            reader = lzma.LZMADecompressor(memlimit=MOST_MEMORY_BYTES)
            while not reader.eof:
                more = packed.read(1 << 20) if reader.needs_input else b""
                if reader.needs_input and not more:
                    raise UsageError(f"{file}: not a packed run: truncated")
                written.write(reader.decompress(more, max_length=1 << 22))
                if written.tell() > most_bytes:
                    raise UsageError(f"{file}: must be at most {most_bytes / 1e9:.1f} GB when it is unpacked")
    except lzma.LZMAError as error:
        raise UsageError(f"{file}: not a packed run: {error}") from error
    return archive


def _extracted(file: Path, archive_file: Path, parent: Path, most_bytes: int) -> Path:
    """Extract the archive of a packed run below an empty directory and return the directory of the run."""
    try:
        with zipfile.ZipFile(archive_file) as archive:
            entries = archive.infolist()
            _refuse_large(str(file), len(entries), sum(entry.file_size for entry in entries), most_bytes)
            tops = {_checked(file, entry).parts[0] for entry in entries}
            if len(tops) != 1:
                raise UsageError(f"{file}: not a packed run: expected one top-level directory, found {len(tops)}")
            for entry in entries:
                if not entry.is_dir():
                    _write(archive, entry, parent / entry.filename)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError) as error:
        raise UsageError(f"{file}: not a packed run: {error}") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(f"{file}: not a packed run: two entries have the same name") from error
    made = parent / tops.pop()
    if not any((made / mark).is_file() for mark in MARKS):
        raise UsageError(f"{file}: not a packed run: {made.name} has none of {', '.join(MARKS)}")
    return made


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    """Write one entry; `zipfile` reads at most its declared size and checks its CRC-32."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("xb") as written:
        shutil.copyfileobj(source, written, 1 << 20)


def _checked(file: Path, entry: zipfile.ZipInfo) -> PurePosixPath:
    """Return the path of an entry; UsageError if it is not a plain file below the directory of a run."""
    name = entry.filename
    parts = name.removesuffix("/").split("/")
    if stat.S_IFMT(entry.external_attr >> 16) not in _TYPES:
        raise UsageError(f"{file}: entry {name!r}: must be a file, not a link or device")
    try:
        printable(name)
    except ValueError as error:
        raise UsageError(f"{file}: entry {name!r}: {error}") from error
    if entry.header_offset < 0:
        raise UsageError(f"{file}: entry {name!r}: its offset is before the start of the file")
    if len(name) > LONGEST_PATH or "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise UsageError(f"{file}: entry {name[:100]!r}: must be a path inside one directory")
    if not entry.is_dir() and len(parts) < 2:
        raise UsageError(f"{file}: entry {name!r}: must be in the directory of the run")
    refuse_odd_name(f"{file}: directory", parts[0])
    return PurePosixPath(name)


def _refuse_large(where: str, files: int, total_bytes: int, most_bytes: int) -> None:
    if files > MOST_FILES or total_bytes > most_bytes:
        raise UsageError(
            f"{where}: {files} files with {total_bytes / 1e9:.1f} GB in total; must be at most {MOST_FILES} files"
            f" with {most_bytes / 1e9:.1f} GB in total"
        )
