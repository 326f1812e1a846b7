import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[2] / "schemas"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
NAMES = sorted(GENERATOR.FILES)
OTHERS = (
    "monitor",
    "profile",
    "reproductions",
    "machine-comparison",
    "campaign",
    "campaign-run",
    "health",
    "analysis",
    "simulation",
    "tune",
    "tune-blas",
    "tune-storage",
)
"""Files of monitored programs, campaigns, health, tunings and reproductions: tests of their own check them."""
OF_A_RUN = [name for name in NAMES if name not in OTHERS]
"""Files of a measured run."""


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_schema_is_what_the_types_say(name: str) -> None:
    committed = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert committed == GENERATOR.text(name), "run python schemas/generate.py"


def test_no_schema_is_left_over() -> None:
    assert {path.name for path in FOLDER.glob("*.schema.json")} == {f"{name}.schema.json" for name in NAMES}


@pytest.mark.parametrize("name", OF_A_RUN)
def test_a_whole_run_is_valid(name: str, golden_run: Path) -> None:
    validator = Draft202012Validator(GENERATOR.schema(name))
    if name == "samples":
        lines = (golden_run / "samples.jsonl").read_text().splitlines()
        # A line of each kind and benchmark; the validator is slow.
        kinds = {(r["record"], r.get("benchmark")): r for r in map(json.loads, lines)}
        documents = list(kinds.values())
        assert len(documents) > 10
    else:
        documents = [json.loads((golden_run / f"{name}.json").read_text())]
    for document in documents:
        validator.validate(document)


@pytest.mark.parametrize("name", OF_A_RUN)
def test_an_unknown_key_is_not_valid(name: str, golden_run: Path) -> None:
    file = golden_run / ("samples.jsonl" if name == "samples" else f"{name}.json")
    first = json.loads(file.read_text().splitlines()[0] if name == "samples" else file.read_text())
    document = [first[0] | {"surprise": 1}] if isinstance(first, list) else first | {"surprise": 1}
    assert not Draft202012Validator(GENERATOR.schema(name)).is_valid(document)
