"""The pages of findings list the codes of all findings, and no others; a code leads to its module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hpcscope.findings
from hpcscope.findings import find

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = {
    "run": "docs/findings.md",
    "profile": "monitor/README.md",
    "campaign": "hpcscope/programs/README.md",
    "topology": "docs/method/topology.md",
    "load": "docs/method/topology.md",
}


def documented(page: str) -> set[str]:
    """Return the codes in the first column of the tables of a page."""
    text = (REPOSITORY / page).read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|", text, re.M)
    return {code for row in rows for code in re.findall(r"`([^`]*)`", row)}


def constants(package: str) -> tuple[set[str], set[str]]:
    """Return what is given as `code` in a package of findings, and all strings in it."""
    codes, strings = set(), set()
    for file in Path(hpcscope.findings.__path__[0], package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                codes.add(str(node.value.value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.add(node.value)
    return codes, strings


@pytest.mark.parametrize(("package", "page"), PAGES.items())
def test_every_code_is_listed(package: str, page: str) -> None:
    codes, _ = constants(package)
    assert codes
    assert codes - documented(page) == set()


@pytest.mark.parametrize(("package", "page"), [(package, PAGES[package]) for package in ("run", "profile")])
def test_every_listed_code_exists(package: str, page: str) -> None:
    codes, strings = constants(package)
    assert documented(page) - codes - strings == set()


@pytest.mark.parametrize(("package", "page"), PAGES.items())
def test_a_module_is_named_by_its_code_or_by_the_beginning_of_its_codes(package: str, page: str) -> None:
    codes = documented(page)
    named = {module: module.replace("_", "-") for module in find.kinds(f"{hpcscope.findings.__name__}.{package}")}
    families = {name for name in named.values() if sum(code.startswith(f"{name}-") for code in codes) > 1}
    assert {module for module, name in named.items() if name not in codes | families} == set()
