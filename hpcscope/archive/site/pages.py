"""The pages of a repository's site: clusters, ranking, runs, comparison; their data are loaded in pieces."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcscope import units
from hpcscope.archive.entry import Entry
from hpcscope.archive.history import LevelChange
from hpcscope.archive.index import SeriesPoint
from hpcscope.archive.site.pieces import case_id, cluster_id, machine_page, shown
from hpcscope.report.frame import as_json, environment


@dataclass(frozen=True)
class ClusterPage:
    """A cluster and its runs."""

    name: str
    runs: Sequence[Entry]
    """At least one run, newest first."""

    @property
    def id(self) -> str:
        """Name of the cluster's page."""
        return cluster_id(self.name)

    @property
    def newest(self) -> Entry:
        """Newest run of the cluster."""
        return self.runs[0]


def page(
    name: str, contents: Mapping[str, Any] = {}, argument: object = None, root: str = "", live: bool = False
) -> str:
    """Return a page, which starts by calling the function of `site.js` with the page's name.

    `live`: whether a server also shows runs in progress.
    """
    frame = environment()
    frame.filters["page"] = machine_page
    frame.filters["metric"] = units.named
    frame.filters["shown"] = lambda row: shown(row[1], row[2].point)
    frame.filters["case"] = case_id
    frame.filters["levels"] = _levels
    frame.filters["date"] = lambda unix_s: time.strftime("%Y-%m-%d", time.gmtime(unix_s))
    built = time.strftime("%Y-%m-%d", time.gmtime())
    return frame.get_template(f"site/{name}.html").render(
        contents,
        here=name,
        has_live=live,
        root=root,
        built=built,
        start=as_json({"root": root, "page": name, "argument": argument}),
    )


def _levels(change: LevelChange) -> str:
    """Return the levels before and after a change in words."""
    levels = (SeriesPoint("", 0.0, value, None, None) for value in (change.point.before, change.point.after))
    return " to ".join(shown(change.course, level) for level in levels)
