"""The version of Scope, spelt once."""

__version__ = "0.1.0"
VERSION = __version__
