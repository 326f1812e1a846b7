"""What SimGrid is told of a run: messages of every size take what they took, by the formula of SMPI."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from hpcscope.findings.results import Run
from hpcscope.simulation import description
from hpcscope.simulation.calibration import ENVELOPE_BYTES, Calibration, calibrated
from hpcscope.simulation.platform import platform
from tests import golden_run as golden


@pytest.fixture(scope="module")
def calibration(golden_run: Path) -> Calibration:
    run = Run(golden_run)
    return calibrated(platform(run.measurements), run.measurements, run.models.fits)


def factor(settings: dict[str, str], name: str, size: int) -> float:
    """Return the factor of a size as SMPI looks it up."""
    found = 1.0
    for part in settings[name].split(";"):
        start, value = part.split(":")
        if size > int(start):
            found = float(value)
    return found


@pytest.mark.parametrize("size", golden.SIZES)
def test_a_message_takes_what_it_took(calibration: Calibration, size: int) -> None:
    inside = calibration.platform.inside
    assert inside is not None
    sent = size + ENVELOPE_BYTES
    latency_s = inside.latency_s.estimate.value * factor(calibration.settings, "smpi/lat-factor", sent)
    rate = inside.bandwidth_bytes_per_s.estimate.value * factor(calibration.settings, "smpi/bw-factor", sent)
    empty_s, per_byte_s = golden.LATENCY if size <= 16384 else golden.LATENCY_ABOVE
    assert latency_s + sent / rate == pytest.approx(empty_s + size * per_byte_s, rel=0.1)


def test_every_figure_has_its_source_and_interval(calibration: Calibration) -> None:
    text = description.write(calibration.platform, calibration.comments, calibration.settings)
    root = ElementTree.fromstring(text)
    told = {one.attrib["id"]: one.attrib["value"] for one in root.iter("prop")}
    assert told == calibration.settings
    lines = [line for line in calibration.comments if "per byte" in line]
    assert len(lines) == 2
    assert all("ping-pong" in line and "[" in line and line in text for line in lines)
    assert "smpi/os" not in told
    assert any("sender" in line and "receiver" in line for line in calibration.comments)
