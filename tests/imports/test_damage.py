"""No damage of an output ends a reading, and no reading finds more figures in a part than in the whole."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import decoded, lines
from tests.imports.reading import DATA

FILES = sorted(path.name for path in DATA.iterdir() if path.is_file())


def figures(name: str, text: str) -> Counter[tuple[str, str, tuple[float, ...]]]:
    """Return the figures of an output in a format."""
    found = imports.read(imports.format_of(name), lines(text)).figures
    return Counter((one.benchmark, one.metric, one.values) for one in found)


@pytest.mark.parametrize("file", FILES)
def test_an_output_is_of_one_format(file: str) -> None:
    text = lines(decoded(file, (DATA / file).read_bytes()))
    assert len([name for name in imports.names() if imports.format_of(name).claims(text)]) == 1


@pytest.mark.parametrize("file", FILES)
def test_damage_ends_no_reading(file: str) -> None:
    text = decoded(file, (DATA / file).read_bytes())
    all_lines = lines(text)
    [name] = [one for one in imports.names() if imports.format_of(one).claims(all_lines)]
    chance = random.Random(file)
    rows = text.splitlines()
    for _ in range(12):
        figures(name, text[: chance.randrange(len(text))])
        figures(name, text[chance.randrange(len(text)) :])
        figures(name, "\n".join(row for row in rows if chance.random() < 0.8))
        figures(name, "\n".join(row[: chance.randrange(len(row) + 1)] for row in rows))
        figures(name, "\n".join(word for row in rows for word in (row, "module load gcc/12 # 1 2.00 3.00")))
        digits = str.maketrans({chance.choice("0123456789"): chance.choice("-.,exNaN \t")})
        figures(name, text.translate(digits))


@pytest.mark.parametrize("file", FILES)
def test_noise_between_lines_changes_nothing(file: str) -> None:
    text = decoded(file, (DATA / file).read_bytes())
    if text.lstrip().startswith("{"):
        return  # a document is whole, or none
    all_lines = lines(text)
    [name] = [one for one in imports.names() if imports.format_of(one).claims(all_lines)]
    rows = enumerate(text.splitlines())
    noisy = "".join(f"{row}\n" if number % 2 else f"{row}\nslurmstepd: error: x\n" for number, row in rows)
    assert figures(name, noisy) == figures(name, text)
