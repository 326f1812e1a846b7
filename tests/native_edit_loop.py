"""Configure the build of `make try`: the native program as Scope builds it, but each source compiled by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hpcscope.build import cmake, installations, native

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    project = native.project(installations.find(installations.EMBEDDED), native.source_directory())
    subprocess.run(
        [
            *(cmake.tool("cmake"), "-S", str(project.sources), "-B", str(folder), "-G", "Ninja"),
            *(f"-DCMAKE_BUILD_TYPE={cmake.BUILD_TYPE}", f"-DCMAKE_CXX_COMPILER={';'.join(project.compiler)}"),
            *(f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}", f"-DCMAKE_BUILD_RPATH={project.library_folder}"),
            *("-DSCOPE_UNITY=OFF", *project.definitions),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for name, library in project.links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(library)
