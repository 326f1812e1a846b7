"""Which fabric libraries are found, that a build is another with them, and what is said without them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.build import fabrics, native
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import embedded  # noqa: F401
from tests.patience import PATIENCE_S

WITHOUT = """
#include <cstdio>
#include "transports/transport.hpp"
namespace scope {
std::unique_ptr<Transport> connect_libfabric(const Partner&, const TransportOptions&);
std::unique_ptr<Transport> connect_ucx(const Partner&, const TransportOptions&);
}
int main() {
  for (auto* connect : {scope::connect_libfabric, scope::connect_ucx}) {
    try {
      connect({}, {});
    } catch (const scope::Unavailable& error) {
      std::puts(error.what());
    }
  }
}
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    fabrics.find.cache_clear()
    yield
    fabrics.find.cache_clear()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with a UCX of its own and pkg-config's word for it."""
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    (tmp_path / "include" / "ucp" / "api").mkdir(parents=True)
    (tmp_path / "include" / "ucp" / "api" / "ucp.h").touch()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libucp.so.7").touch()
    (tmp_path / "lib" / "libucp.so").symlink_to("libucp.so.7")
    (tmp_path / "ucx.pc").write_text(
        f"Name: ucx\nDescription: ours\nVersion: 7.1\nCflags: -I{tmp_path}/include\nLibs: -L{tmp_path}/lib -lucp\n"
    )
    monkeypatch.setenv("PKG_CONFIG_PATH", str(tmp_path))
    return tmp_path


def test_a_site_s_own_is_found_and_is_another_build(
    site: Path,
    embedded: MpiInstallation,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {fabric.name: fabric for fabric in fabrics.find(embedded.compiler)}["ucx"]
    assert (found.include, found.library) == (str(site / "include"), str(site / "lib" / "libucp.so.7"))
    assert found.version == "7.1"
    fingerprints = {native.project(embedded, site).fingerprint}
    monkeypatch.setattr(fabrics, "find", lambda compiler: ())
    fingerprints.add(native.project(embedded, site).fingerprint)
    assert len(fingerprints) == 2


def test_a_library_without_its_header_is_none(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabrics, "KNOWN", (("ucx", "ucp/api/none.h", "libucp.so"),))
    assert fabrics.find("c++") == ()
    monkeypatch.setattr(fabrics, "KNOWN", (("none", "ucp/api/ucp.h", "libnone.so"),))
    fabrics.find.cache_clear()
    assert fabrics.find("c++") == ()


@pytest.mark.slow("compiles the transports once more; there, what is found decides what is compiled")
def test_a_build_without_them_says_so(tmp_path: Path, embedded: MpiInstallation) -> None:  # noqa: F811
    sources = native.source_directory() / "src"
    (tmp_path / "main.cpp").write_text(WITHOUT)
    transports = [str(sources / "transports" / f"{name}.cpp") for name in ("libfabric", "ucx")]
    program = str(tmp_path / "without")
    options = [
        "-std=c++20",
        f"-I{sources}",
        f"-I{sources.parents[1]}",
        str(tmp_path / "main.cpp"),
        *transports,
        "-o",
        program,
    ]
    subprocess.run([embedded.compiler, *options], check=True, timeout=PATIENCE_S)
    said = subprocess.run(
        [program], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout.splitlines()
    assert len(said) == 2
    for line, name in zip(said, ("libfabric", "UCX"), strict=True):
        assert name in line
