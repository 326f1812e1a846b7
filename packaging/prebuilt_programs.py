"""Puts native programs that were compiled beforehand into a wheel, which is then one for this kind of machine."""

from __future__ import annotations

import os
import platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "SCOPE_PREBUILT"
"""The variable that names their folder; without it the wheel is for any machine. Set by packaging/wheel.py."""


class PrebuiltPrograms(BuildHookInterface):
    """Called by Hatchling, once for each wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the programs and say for which machines they are; auditwheel says with which C library."""
        folder = os.environ.get(FOLDER)
        if folder and version == "standard":
            build_data["force_include"][folder] = "hpcscope/prebuilt"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-linux_{platform.machine()}"
