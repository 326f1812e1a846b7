"""Labs: emulated clusters on this machine. Hosts are network namespaces, links are shaped.

`description` defines lab files, `wiring` turns one into commands of `ip` and `tc`, `emulation` brings a lab up and
down, `storage` makes its file system, `fidelity` measures its links, `faults` injects faults, `active` tells
programs inside a lab about it.
"""
