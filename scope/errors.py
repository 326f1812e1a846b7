"""What Scope tells a person when it cannot go on: one line, never a trace."""

from __future__ import annotations


class ScopeError(Exception):
    """The work failed: a case failed, data was wrong, a program did not run (exit code 1)."""

    exit_code = 1


class UsageError(ScopeError):
    """The command line or an input file is wrong; the message says what is allowed (exit code 2)."""

    exit_code = 2
