"""Serve an application until Ctrl-C."""

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from hpcscope.archive.repository import Repository
from hpcscope.errors import ScopeError, UsageError
from hpcscope.report.frame import own_scripts

TOKEN = "SCOPE_TOKEN"
"""The environment variable with the token, which is random if the variable is not set."""
SHORTEST_TOKEN = 16
END_S = 2
"""Grace period for open event streams when the server ends."""
HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",  # connections do not wait for a second request
    "Content-Security-Policy": f"default-src 'none'; script-src 'self' {own_scripts()}; "
    "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every response."""


def serve(
    repository: Repository, runs: Path, host: str, port: int, uploads: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve the pages of a repository; `ready` is called with the address when the server accepts requests.

    Raises UsageError if the token could be guessed, ScopeError if the port is taken or a package is missing.
    """
    try:
        import uvicorn

        from hpcscope.archive.serve.app import application
        from hpcscope.archive.serve.connection import BoundedConnection
    except ModuleNotFoundError as error:
        raise ScopeError(
            f"{error.name}: not installed; pip install starlette uvicorn (requirements/serve.txt has the versions)"
        ) from error
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(f"{TOKEN}: must have at least {SHORTEST_TOKEN} printable ASCII characters")
    with ExitStack() as held:
        listening = held.enter_context(_listening(host, port))
        app = application(repository, runs, token, uploads, held)
        config = uvicorn.Config(
            app,
            http=BoundedConnection,
            ws="none",
            log_level="error",
            timeout_graceful_shutdown=END_S,
            server_header=False,
            headers=list(HEADERS.items()),
        )
        address, number = listening.getsockname()[:2]
        ready(f"http://{f'[{address}]' if ':' in address else address}:{number}/?token={token}")
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError as error:
        raise ScopeError(f"{host}:{port}: cannot listen: {error.strerror}") from error
    return made
