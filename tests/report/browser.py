"""Opens a page in a real browser and says what it became and what it asked for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=20000",
]


@dataclass(frozen=True)
class Opened:
    """A page after its scripts have run."""

    dom: str
    console: list[str]
    """What scripts and the browser complained of."""
    requests: list[str]
    """Addresses that were asked for, the page itself left out."""

    def attribute(self, name: str) -> str | None:
        """Return an attribute of the root element."""
        root = self.dom[self.dom.index("<html") : self.dom.index(">", self.dom.index("<html"))]
        found = re.search(rf'{name}="([^"]*)"', root)
        return found[1] if found else None


def opened(page: Path, *options: str) -> Opened:
    """Let a headless browser draw the page, with its network log on."""
    with tempfile.TemporaryDirectory() as profile:
        log = Path(profile) / "network.json"
        done = subprocess.run(
            [CHROMIUM, *QUIET, f"--user-data-dir={profile}", f"--log-net-log={log}", "--enable-logging=stderr",
             *options, "--dump-dom", page.resolve().as_uri()],
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        asked = _asked_by_the_page(log.read_text(errors="replace"))
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Opened(done.stdout, console, asked)


def _asked_by_the_page(log: str) -> list[str]:
    """Return the addresses that the page asked for; what the browser asks of its own accord has no origin."""
    try:
        events = json.loads(log)
    except json.JSONDecodeError:  # the browser left before it closed the list
        events = json.loads(log.rstrip().rstrip(",") + "]}")
    starts = events["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    jobs = [event.get("params", {}) for event in events["events"] if event["type"] == starts]
    return sorted({job["url"] for job in jobs if job.get("url") and job.get("initiator") != "not an origin"})


def shown(address: str) -> str:
    """Return a page of a server on this host as it is when everything in it has been loaded."""
    quiet = [one for one in QUIET if "virtual-time" not in one and "host-resolver" not in one]
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [CHROMIUM, *quiet, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             f"--user-data-dir={profile}", "--dump-dom", address],
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
    return done.stdout


def with_script(html: str, script: str) -> str:
    """Return a page with one more script at its end, and without the policy that would refuse it."""
    return html.replace("http-equiv", "data-was", 1).replace("</body>", f"<script>{script}</script></body>")


def printed(page: Path, target: Path) -> bytes:
    """Let the browser print the page."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [CHROMIUM, *QUIET, f"--user-data-dir={profile}", f"--print-to-pdf={target}", page.resolve().as_uri()],
            capture_output=True, text=True, timeout=PATIENCE_S, check=True,
        )  # fmt: skip
    return target.read_bytes()


def figures(html: str) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Return what the page draws, by figure."""
    return data(html, "figures")  # type: ignore[no-any-return]


def data(html: str, name: str) -> Any:
    """Return what the page gives to its script under this name."""
    start = html.index(f'<script type="application/json" id="{name}">')
    return json.loads(html[html.index(">", start) + 1 : html.index("</script>", start)])
