"""The rules of the house that programs can check: style, types, one-way imports, no foreign names."""

from __future__ import annotations

import ast
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

REPOSITORY = Path(__file__).resolve().parents[1]
TOOLS = Path(sysconfig.get_path("scripts"))

PRODUCT = ("hpcscope", "measure", "monitor", "collectives", "active-messages", "timer", "scope-timer", "json")
SOURCES = (".py", ".cpp", ".hpp", ".c", ".h", ".js", ".css", ".html", ".f90", ".in")
MOST_LINES = 144_750
"""Of all sources of the product; a change that needs more says why, next to what it gives."""

CHECKS = {
    "ruff finds nothing": ["ruff", "check", "."],
    "ruff would format nothing": ["ruff", "format", "--check", "."],
    "mypy is content": ["mypy"],
    "imports go one way": ["lint-imports"],
}


@pytest.mark.parametrize("command", CHECKS.values(), ids=CHECKS.keys())
def test_python(command: list[str]) -> None:
    passes([str(TOOLS / command[0]), *command[1:]])


def test_clang_format_would_change_nothing() -> None:
    sources = [
        str(path)
        for folder in ("active-messages", "measure", "collectives", "monitor", "hpcscope", "benchmarks", "tests")
        for path in (REPOSITORY / folder).rglob("*.[ch]*pp")
    ]
    assert sources
    passes([str(TOOLS / "clang-format"), "--dry-run", "--Werror", *sources])


def test_the_tree_names_no_registry_and_no_home() -> None:
    # A registry's host or a developer's folder in a committed file ties the project to one site.
    foreign = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|crates\.io|deb\.debian\.org|/root/|/home/\w+/")
    this_file = Path(__file__).name
    for name in tracked():
        if Path(name).name != this_file:
            text = (REPOSITORY / name).read_bytes().decode("utf-8", errors="ignore")
            assert not (found := foreign.search(text)), f"{name}: {found[0]}"


def test_the_product_does_not_grow_unseen() -> None:
    files = [name for name in tracked() if name.startswith(tuple(f"{folder}/" for folder in PRODUCT))]
    sources = [name for name in files if name.endswith(SOURCES) and "tests/" not in name]
    lines = sum((REPOSITORY / name).read_bytes().count(b"\n") for name in sources)
    print(f"{lines} lines in {len(sources)} sources")
    assert lines <= MOST_LINES


def test_no_type_of_a_program_is_defined_twice() -> None:
    """Two types of one name are undefined behavior that no linker tells: one takes the functions of the other."""
    for project in ("measure", "monitor", "collectives", "active-messages"):
        sources = [Path(name) for name in tracked() if re.match(rf"({project}/|timer/|json/).*[.][ch]pp$", name)]
        programs = {path for path in sources if "tests" in path.parts or "programs" in path.parts}
        assert types_defined_twice({str(path): path.read_text() for path in sources if path not in programs}) == {}


def test_a_type_that_is_defined_twice_is_noticed() -> None:
    one = "namespace scope {\nclass Field {\n};\n}  // namespace scope\n"
    hidden = "namespace scope {\nnamespace {\nstruct Field {\n};\n}  // namespace\n}  // namespace scope\n"
    assert types_defined_twice({"a.hpp": one, "b.hpp": one}) == {"scope::Field": ["a.hpp", "b.hpp"]}
    assert (
        types_defined_twice({"a.hpp": one, "b.cpp": hidden, "c.hpp": one.replace("scope", "scope::other")}) == {}
    )


def types_defined_twice(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the types outside of unnamed namespaces that several sources define, and which do."""
    found: dict[str, set[str]] = {}
    for name, text in sources.items():
        spaces: list[str] = []
        for line in text.splitlines():
            if opened := re.match(r"namespace\s*([\w:]*)\s*{", line):
                spaces.append(opened[1])
            elif re.match(r"}\s*// namespace", line) and spaces:
                spaces.pop()
            elif (defined := re.match(r"(?:class|struct|enum class) (\w+)( final)?( :.*)? {$", line)) and all(
                spaces
            ):
                found.setdefault("::".join([*spaces, defined[1]]), set()).add(name)
    return {name: sorted(places) for name, places in found.items() if len(places) > 1}


def test_output_of_other_programs_may_have_any_bytes() -> None:
    # Compilers and launchers speak the language of the site, and name files as the site does.
    for path in sorted((REPOSITORY / "hpcscope").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                said = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert said.get("text") != "True" or "errors" in said, f"{path}:{node.lineno}: errors=?"


def tracked() -> list[str]:
    """Return the files that git knows; skip where this is no checkout."""
    answer = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if answer.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in answer.stdout.splitlines() if (REPOSITORY / name).is_file()]


def passes(command: list[str]) -> None:
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr
