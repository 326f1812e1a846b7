"""The pictures of the documents, from a run and in Chromium; `make picture` renews them.

The report's own policy allows styles, so that the numbers on the picture are drawn by styles alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKED = (
    ".kicker",
    ".verdict h1",
    ".tiles",
    "#messages-latency_s",
    "[aria-labelledby=reader-1]",
    "#ladder .ladder:first-of-type .rung:last-child",
    "#ladder .ladder:first-of-type .rung:first-child .retained",
    "#findings .cause:first-child h3",
    "#findings .cause:first-child .advice",
)
"""What the numbers on the annotated picture mark, in their order; docs/tutorial/report.md explains them."""
BADGE = """
%s { position: relative; overflow: visible !important; }
%s::after { content: "%d"; position: absolute; left: -30px; top: 0; width: 26px; height: 26px; border-radius: 13px;
  background: #b3261e; color: white; font: bold 15px/26px sans-serif; text-align: center; z-index: 9; }
"""


def annotated(page: str) -> str:
    """Return a report with a number at each place."""
    rules = "".join(BADGE % (place, place, number) for number, place in enumerate(MARKED, 1))
    return page.replace("</head>", f"<style>{rules}</style></head>")


def photograph(page: Path, picture: Path, height: int) -> None:
    """Write a picture of the top of a page, 1,280 pixels wide."""
    look = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = [f"--window-size=1280,{height}", f"--screenshot={picture}", page.resolve().as_uri()]
    subprocess.run([*look, *size], check=True, stderr=subprocess.DEVNULL)


def main(run: Path) -> None:
    """Write the picture of the README and that of the tutorial."""
    photograph(run / "report.html", DOCS / "report.png", 900)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "annotated.html"
        page.write_text(annotated((run / "report.html").read_text()))
        photograph(page, DOCS / "tutorial" / "report.png", 2700)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
