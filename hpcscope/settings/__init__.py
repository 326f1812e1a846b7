"""Settings: each is declared once, and read in one way from the command line, from files and from Python.

The declarations need the standard library only, so that help is quick.
"""
