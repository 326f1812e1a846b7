"""What the native program reads of the library's own settings; `test_other_mpis.py` has the other MPIs."""

from __future__ import annotations

from hpcscope.machine.machine import NativeBuild
from tests.measure.conftest import Measure

TOLD = {
    "openmpi": ("OMPI_MCA_btl_tcp_eager_limit", "btl_tcp_eager_limit"),
    "mpich": ("MPIR_CVAR_BCAST_SHORT_MSG_SIZE", "MPIR_CVAR_BCAST_SHORT_MSG_SIZE"),
}
"""The environment's name of a setting, and the library's."""


def check_setting(native: NativeBuild, measure: Measure) -> None:
    """Tell the library of a program a setting, and check that the program reads it."""
    variable, name = TOLD[native.mpi.name]
    ended = measure(2, ["mpi.barrier"], native=native, **{variable: "12345"})
    assert ended.code == 0, ended.errors
    settings = ended.launch.settings
    assert settings[name] == 12345
    assert 10 < len(settings) <= 100
    assert all(isinstance(value, str) or value > 0 for value in settings.values())
    assert "system call" not in ended.errors  # Open MPI's word when its tools interface is closed too late


def test_a_setting_is_read_as_it_was_told(embedded_build: NativeBuild, measure: Measure) -> None:
    check_setting(embedded_build, measure)
