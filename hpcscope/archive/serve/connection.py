"""Connections that end after one response, without a complete request, or if a client has too many."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10
"""Time for the request line and the headers."""
MOST_OF_A_CLIENT = 64


class BoundedConnection(H11Protocol):
    """A uvicorn connection with limits; uvicorn itself waits for headers forever."""

    connections: set[BoundedConnection]  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection if its client has too many."""
        super().connection_made(transport)
        if sum(connection.host() == self.host() for connection in self.connections) > MOST_OF_A_CLIENT:
            transport.abort()
        else:
            self.loop.call_later(REQUEST_S, self._end_without_request)

    def host(self) -> str:
        """Return the client's address."""
        return self.client[0] if self.client else ""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """End the connection if its client does not speak HTTP."""
        self.transport.abort()

    def _end_without_request(self) -> None:
        if self.cycle is None:
            self.transport.abort()
