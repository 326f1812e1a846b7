"""The version of Scope, spelt once."""

__version__ = "1.0.0a1"
VERSION = __version__
