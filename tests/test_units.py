"""Quantities as people read them."""

import pytest

from hpcscope import units


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.3e-6, "s", "12.3 µs"),
        (0.0, "s", "0 s"),
        (1.2345e-3, "s", "1.23 ms"),
        (85e-9, "s", "85.0 ns"),
        (3.1e-10, "s", "0.310 ns"),
        (999.96e-6, "s", "1.00 ms"),
        (75.0, "s", "75.0 s"),
        (13.95e9, "bytes/s", "13.9 GB/s"),
        (13.96e9, "B/s", "14.0 GB/s"),
        (1.186e6, "byte/s", "1.19 MB/s"),
        (950.0, "bytes/s", "950 B/s"),
        (2.5e9, "flop/s", "2.50 Gflop/s"),
        (3.21e6, "messages/s", "3.21 Mmsg/s"),
        (3.21e6, "1/s", "3.21 M/s"),
        (8192.0, "B", "8 KiB"),
        (1000, "B", "1000 B"),
        (25.3e9, "B", "23.6 GiB"),
        (1536, "B", "1.50 KiB"),
        (4.0, "", "4"),
        (12.0, "ticks", "12 ticks"),
        (12.5, "cores", "12.5 cores"),
        (None, "s", "–"),
        (-2.5e-6, "s", "-2.50 µs"),
    ],
)
def test_a_quantity_has_three_digits_and_an_unmistakable_unit(value, unit, text):
    assert units.quantity(value, unit) == text


def test_an_interval_is_written_in_the_unit_of_its_value():
    assert units.interval(12.3e-6, 12.1e-6, 12.6e-6, "s") == "12.3 µs [12.1, 12.6]"
    assert units.interval(1.002e-3, 0.998e-3, 1.01e-3, "s") == "1.00 ms [0.998, 1.01]"
    assert units.interval(1e9, None, None, "bytes/s") == "1.00 GB/s"
    assert units.interval(0.0, -1.12e8, 1.26e8, "B") == "0 MiB [-107, 120]"
    assert units.interval(0.0, 0.0, 0.0, "s") == "0 s [0, 0]"
    assert units.interval(None, None, None, "s") == "–"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1, "1 B"), (1000, "1000 B"), (1024, "1 KiB"), (16384, "16 KiB"), (1500, "1500 B"),
     (4 << 20, "4 MiB"), (3 << 30, "3 GiB"), (1025, "1025 B")],
)  # fmt: skip
def test_a_size_is_written_as_it_was_chosen(count, text):
    assert units.size(count) == text


def test_a_share_keeps_two_digits_when_it_is_small():
    assert units.share(0.912, 0.89, 0.93) == "91 % [89, 93]"
    assert units.share(0.0213) == "2.1 %"
    assert units.share(None) == "–"


def test_digits_do_not_grow_when_rounding_carries():
    assert units.digits(9.996) == "10.0"
    assert units.digits(99.96) == "100"
    assert units.digits(0.09996) == "0.100"
    assert units.digits(1.5e9) == "1.50e+09"


def test_a_change_has_its_sign():
    assert [units.signed(value, "s") for value in (1.43e-6, -2e-3, 0.0)] == ["+1.43 µs", "-2.00 ms", "0 s"]


@pytest.mark.parametrize(
    "text", ["0", "-1", "+7", "1024", "1Ki", "-2Mi", "3Gi", "0.5Mi", ".25Ki", "2.", "1e3", "1E-3", "1.5e2Ki"]
)
def test_a_number_is_read_as_it_is_typed(text):
    figure = text.rstrip("KMGi")
    factor = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "": 1}[text[len(figure) :]]
    assert units.parsed(text) == float(figure) * factor
    assert isinstance(units.parsed(text), float if set(figure) & set(".eE") else int)


def test_what_is_written_is_read_again():
    for value in (0, 7, -12, 10**17, 1e-9, 0.1, 1 / 3, -2.5e300):
        assert units.parsed(str(value)) == value
    for count in (1 << 10, 3 << 20, 5 << 30):
        assert units.parsed(units.size(count).replace(" ", "").removesuffix("B")) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 Ki",
        "Ki",
        "1ki",
        "1K",
        "1Ti",
        "1KiB",
        "1_000",
        "0x10",
        "1,5",
        "nan",
        "inf",
        ".",
        "e3",
        "1e",
        "--1",
        "٣",
        "1\n",
    ],
)
def test_what_is_no_number_is_refused_with_what_may_follow(text):
    with pytest.raises(ValueError, match=r"number.*Ki, Mi and Gi"):
        units.parsed(text)


@pytest.mark.parametrize("text", ["1e999", "-1e308Gi"])
def test_a_number_beyond_all_bounds_is_refused(text):
    with pytest.raises(ValueError, match="too large"):
        units.parsed(text)


@pytest.mark.parametrize("text", ["1.0", "0.5Ki", "1e3"])
def test_an_integer_has_no_point(text):
    with pytest.raises(ValueError, match=r"integer.*Ki, Mi and Gi"):
        units.whole(text)
    assert units.whole("-2Ki") == -2048


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *(
            (40_000_000, "40 MB"),
            (2_000_000_000, "2 GB"),
            (1240, "1240 B"),
            (1500, "1.5 kB"),
            (640, "640 B"),
            (0, "0 B"),
        ),
        *((1_073_741_824, "1.07 GB"), (38_100_000, "38.1 MB"), (None, "–"), (1, "1 B")),
    ],
)
def test_numbers_of_bytes_are_written_as_sources_print_them(count: float | None, text: str) -> None:
    assert units.printed(count) == text
