"""Caliper's split JSON: values of regions, over all ranks or per rank; `scope export thicket` writes it, too.

A row of `data` has a cell for each of `columns`. Columns with `is_value` are measured, in `attribute.unit`; a cell
of `path` is a node of the region tree, or null outside all regions. Further keys are the metadata of the run.
https://software.llnl.gov/Caliper/OutputFormats.html#json-split
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from hpcscope.exchange.imports import Given, parameter, setting, slug
from hpcscope.exchange.imports.objects import Printed, elements
from hpcscope.exchange.imports.quantities import measured
from hpcscope.exchange.imports.reader import DocumentReader
from hpcscope.samples.records import Origin

_NAME = "application.caliper"
_PATH, _ORDER, _RANK, _SIZE = "path", "Node order", "mpi.rank", "mpi.world.size"
_PARTS = {"data", "columns", "column_metadata", "nodes"}
_HOSTS = ("hosts", "hostlist", "hostname")
_KEPT = {*_PARTS, *_HOSTS, _SIZE, "jobsize", "launchdate", "cali.caliper.version", "executablepath", "origin"}
_OUTSIDE = "outside of regions"
_DATE = re.compile(r"\d{1,11}(?:\.\d+)?$")
_COUNT = re.compile(r"\d{1,9}$")


class _Reader(DocumentReader):
    TITLE = "Caliper"
    CLAIMS = (re.compile(r'[\s{,]*"column_metadata"\s*:'),)

    def _document(self, printed: Printed) -> set[int]:
        if not _is_table(printed.value):
            return set()
        self._about(printed.value)
        regions = _regions(elements(printed.value, "nodes"))
        for row, line in zip(printed.value["data"], printed.rows("data"), strict=False):
            if isinstance(row, list) and len(row) == len(printed.value["columns"]):
                self._row(printed.value, row, regions, line)
        return printed.numbers

    def _about(self, held: Mapping[str, Any]) -> None:
        if version := held.get("cali.caliper.version"):
            self.versions.append(str(version))
        hosts = next((str(held[key]) for key in _HOSTS if key in held), "")
        self.hosts += re.findall(r"[^][\s,]+", hosts)
        if _DATE.match(date := str(held.get("launchdate"))):
            self.began(float(date))
        if left := sorted(held.keys() - _KEPT):
            self.differences.append(f"{self.TITLE}: metadata are left out: {', '.join(left)}")

    def _row(self, held: Mapping[str, Any], row: Sequence[Any], regions: Sequence[str], line: int) -> None:
        of = {"program": PurePosixPath(str(held.get("executablepath") or "unknown")).name}
        of |= {"region": _OUTSIDE} if _PATH in held["columns"] else {}
        numbers: dict[str, Any] = {_SIZE: held.get(_SIZE) or held.get("jobsize")}
        values: list[tuple[str, str, float]] = []
        for name, about, cell in zip(map(str, held["columns"]), held["column_metadata"], row, strict=True):
            if cell is None or name == _ORDER:
                continue
            if name in (_RANK, _SIZE):
                numbers[name] = cell
            elif not about.get("is_value"):
                known = isinstance(cell, int) and 0 <= cell < len(regions)
                of["region" if name == _PATH else slug(name)] = regions[cell] if known else str(cell)
            elif isinstance(cell, (int, float)) and not isinstance(cell, bool):
                values.append((name, str(about.get("attribute.unit") or ""), cell))
            else:
                self.differences.append(f"{self.TITLE}: {name} is left out: its values are not numbers")
        rank = _count(numbers.get(_RANK))
        at = [] if rank is None else [Given(parameter("rank", "rank", [0]), rank)]
        for name, unit, cell in values:
            if not unit:
                self.differences.append(f"{self.TITLE}: {name} has no unit")
            metric, value = measured(repr(cell), unit)
            given = [setting(key, text, bare=True) for key, text in {**of, "value": name}.items()]
            whose = f"{_NAME}_rank" if at else _NAME
            summary = f"a region of a program, as {self.TITLE} saw it"
            case = self.foreign(whose, summary, [metric], [*given, *at], _count(numbers[_SIZE]))
            self.add(case, value, line, origin=_origin(held))


def _count(cell: object) -> int | None:
    return int(str(cell)) if _COUNT.match(str(cell)) else None


def _origin(held: Mapping[str, Any]) -> Origin:
    """Return the origin of values that Scope wrote, so that emulated and simulated values stay labeled."""
    said = str(held.get("origin")).split() if "scope_version" in held else []
    return "emulated" if "emulated" in said else "simulated" if "simulated" in said else "imported"


def _is_table(held: Mapping[str, Any]) -> bool:
    """Return whether a document has rows, columns with metadata for each column, and nodes."""
    parts = [held.get(key) for key in _PARTS]
    whole = all(isinstance(part, list) for part in parts)
    return whole and len(held["columns"]) == len(elements(held, "column_metadata"))


def _regions(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the path of each node; parents come before their children."""
    paths: list[str] = []
    for node in nodes:
        parent, label = node.get("parent"), str(node.get("label"))
        below = isinstance(parent, int) and 0 <= parent < len(paths)
        paths.append(f"{paths[int(parent or 0)]}/{label}" if below else label)
    return paths
