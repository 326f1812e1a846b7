"""Web application for the pages of a repository, runs in progress, and uploads.

Every request needs the token, even on the loopback interface, which all users of a host share.
"""

import asyncio
import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hpcscope.archive import packing
from hpcscope.archive.entry import ID
from hpcscope.archive.repository import Repository
from hpcscope.archive.serve.runs_in_progress import RunsInProgress
from hpcscope.archive.serve.uploads import FullError, Upload
from hpcscope.archive.site.pages import page
from hpcscope.archive.site.site import Site
from hpcscope.engine import report
from hpcscope.errors import ScopeError
from hpcscope.models.published.machines import machines
from hpcscope.private import temporary_folder

SESSION_S = 12 * 3600.0
MOST_SESSIONS = 32
"""If there are more sessions, the oldest is ended early."""
PLACES = r"/\S*/(?:scope-packed-[^/\s]*/(?:inside/)?|(?=\.upload-))"
"""Server directories to remove from messages about an upload, because the sender need not know them."""
EVERY_S = 1.0
"""Time between two updates of a page with runs in progress."""


class Guard:
    """Middleware that passes requests with the bearer token, and read requests of a session begun with the token.

    The id of a session is the first path component of its URLs. A cookie would be sent to every port of the host,
    where other users may listen.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token
        self._ends: dict[str, float] = {}
        """Ends of the sessions on the monotonic clock, oldest first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it, before its body is read."""
        app = self._app
        if scope["type"] == "http" and not _are_equal(_bearer(Request(scope)), self._token):
            _, session, path = [*scope["path"].split("/", 2), "", ""][:3]
            if self._is_open(session) and scope["method"] in ("GET", "HEAD"):
                scope = {**scope, "path": f"/{path}"}
            elif _are_equal(Request(scope).query_params.get("token", ""), self._token):
                app = RedirectResponse(f"/{self._begin()}/index.html", 303)
            else:
                app = PlainTextResponse("Open the address that `scope serve` printed.\n", 403)
        await app(scope, receive, send)

    def _begin(self) -> str:
        for end in list(self._ends)[: 1 - MOST_SESSIONS]:
            del self._ends[end]
        session = secrets.token_urlsafe(24)
        self._ends[session] = time.monotonic() + SESSION_S
        return session

    def _is_open(self, session: str) -> bool:
        now = time.monotonic()
        return any(_are_equal(session, one) for one, end in self._ends.items() if now < end)


def _are_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


class LiveSite:
    """The files of the site for the current state of the repository; reports are made on request."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self._folder = folder
        """Directory for reports."""
        self._lock = threading.Lock()
        self._site: Site | None = None
        self._read: object = None
        """The state of the index when the site was read."""

    def text(self, name: str) -> str:
        """Return a file; KeyError if there is no file of this name."""
        with self._lock:
            site = self._newest()
            if found := re.fullmatch(rf"reports/({ID})\.html", name):
                return self._report(site, found[1])
            return site.files[name]()

    def _newest(self) -> Site:
        state = self._repository.state()
        if self._site is None or state != self._read:
            self._site = Site(self._repository, live=True, historic=machines())
            self._read = state  # the state before reading, so that later additions are read at the next request
        return self._site

    def _report(self, site: Site, name: str) -> str:
        if name not in site.reports:
            raise KeyError(name)
        made = self._folder / f"{name}.html"
        if not made.exists():
            with packing.opened(self._repository.file(name)) as run:
                report.write(run, made)
        return made.read_text(encoding="utf-8")


def application(repository: Repository, runs: Path, token: str, uploads: Path | None, held: ExitStack) -> ASGIApp:
    """Return the application; `held` releases its resources. `uploads`: directory for uploads, or None."""
    site = LiveSite(repository, held.enter_context(temporary_folder("serve")))
    progress = RunsInProgress(runs)

    def file(request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        try:
            text = site.text(name)
        except KeyError:
            return PlainTextResponse("This page does not exist.\n", 404)
        except ScopeError as error:
            return PlainTextResponse(f"{error}\n", 500)
        media = "text/javascript" if name.endswith(".js") else "text/html"
        return Response(text, media_type=media)

    def live(_request: Request) -> Response:
        return HTMLResponse(page("live", live=True))

    def events(request: Request) -> Response:
        told = _events(request, progress) if request.method == "GET" else ()  # a HEAD request would never end
        return StreamingResponse(told, media_type="text/event-stream")

    async def upload(request: Request) -> Response:
        if uploads is None:
            return JSONResponse({"error": "no uploads accepted; start with `scope serve --uploads DIR`"}, 403)
        return await _taken(request, uploads)

    routes: list[BaseRoute] = [
        Route("/live.html", live),
        Route("/events", events),
        Route("/runs", upload, methods=["PUT"]),
        Route("/{name:path}", file),
    ]
    return Guard(Starlette(routes=routes), token)


async def _events(request: Request, progress: RunsInProgress) -> AsyncIterator[str]:
    """Yield the progress of all runs as events, until the client disconnects."""
    while not await request.is_disconnected():
        told: list[dict[str, Any]] = await run_in_threadpool(progress.told)
        yield f"data: {json.dumps(told)}\n\n"
        await asyncio.sleep(EVERY_S)


async def _taken(request: Request, folder: Path) -> Response:
    """Receive a packed run and keep it until someone adds it to the repository."""
    upload: Upload | None = None
    try:
        upload = await run_in_threadpool(Upload.begin, folder)
        async for piece in request.stream():
            upload.add(piece)
        file = await run_in_threadpool(upload.accept)
    except FullError as error:
        return JSONResponse({"error": str(error)}, 413)
    except ScopeError as error:
        said = re.sub(PLACES, "", str(error))
        return JSONResponse({"error": said}, 422)
    except OSError as error:  # a full disk
        return JSONResponse({"error": f"not kept: {error.strerror}"}, 507)
    except ClientDisconnect:
        return Response(status_code=400)  # the client is gone
    finally:
        if upload is not None:
            upload.drop()
    return JSONResponse({"id": file.stem, "waits": "until someone adds the run to the repository"}, 201)
