"""Emulated clusters on this machine: hosts are network namespaces, wires are shaped.

`description` is what a lab file may say, `wiring` turns it into the kernel's words, `emulation` is its life from
up to down, `proof` measures whether it is faithful, `faults` harms it on request, `active` is what a program
inside sees.
"""
