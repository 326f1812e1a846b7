"""The commands as functions with typed options: no parsing, no printing.

Notices go to the logger of each module, progress to a listener that the caller gives. `hpcscope.cli` and the
public API (`import hpcscope`) are both made from these functions.
"""
