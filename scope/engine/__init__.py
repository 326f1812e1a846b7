"""The commands as functions with typed options: no parsing, no printing.

Notices go to the logger of each module, progress to a listener that the caller gives. `scope.cli` and the public
API (`import scope`) are both made from these functions.
"""
