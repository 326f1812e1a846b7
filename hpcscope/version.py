"""The version of Scope, defined only here."""

__version__ = "1.0.0a1"
VERSION = __version__
