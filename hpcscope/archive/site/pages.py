"""The pages of a repository's site: clusters, ranking, runs, comparison; their data are loaded in pieces."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcscope import units
from hpcscope.archive.entry import Entry
from hpcscope.archive.index import FigureSeries
from hpcscope.archive.published import PrintedCourse
from hpcscope.archive.site.pieces import cluster_id, machine_page, number_of, shown
from hpcscope.models.published.machines import PublishedMachine
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


@dataclass(frozen=True)
class ShownChange:
    """A change of one result in words."""

    case: str
    """Id of the case."""
    words: str
    shown: str
    worse: float
    """Fraction by which the result became worse; negative if it became better."""


@dataclass(frozen=True)
class ShownEvent:
    """Changes at about the same time."""

    started_unix_s: float
    changes: Sequence[ShownChange]
    differences: Sequence[str]


@dataclass(frozen=True)
class Pages:
    """The pages of a site."""

    live: bool
    """Whether a server also shows runs in progress."""

    def index(self, clusters: Sequence[ClusterPage], cases: int, historic: Sequence[PublishedMachine]) -> str:
        """Return the start page: all clusters, and the historic machines."""
        runs = sum(len(cluster.runs) for cluster in clusters)
        return self._page("index", {"clusters": clusters, "runs": runs, "cases": cases, "historic": historic})

    def machine(self, of: PublishedMachine, figures: Sequence[tuple[str, FigureSeries, PrintedCourse]]) -> str:
        """Return the page of a historic machine with its published data; `figures`: values with case ids."""
        return self._page("machine", {"machine": of, "figures": figures}, root="../")

    def cluster(
        self,
        of: ClusterPage,
        sheet: Sequence[tuple[str, str]],
        events: Sequence[ShownEvent],
        reports: set[str],
        fewest_runs: int,
    ) -> str:
        """Return the page of a cluster: data sheet, history, newest runs.

        `reports`: ids of runs that have a report.
        """
        return self._page(
            "cluster",
            {"cluster": of, "sheet": sheet, "events": events, "reports": reports, "fewest_runs": fewest_runs},
            of.id,
            root="../",
        )

    def ranking(self) -> str:
        """Return the page that ranks clusters by a chosen result."""
        return self._page("ranking", {})

    def runs(self, number: int) -> str:
        """Return the page of all runs; `number`: how many there are."""
        return self._page("runs", {}, number_of(number))

    def compare(self, number: int) -> str:
        """Return the page that compares chosen runs side by side."""
        return self._page("compare", {}, number_of(number))

    def in_progress(self) -> str:
        """Return the page of runs in progress, which only a server has."""
        return self._page("live", {})

    def _page(self, name: str, contents: Mapping[str, Any], argument: object = None, root: str = "") -> str:
        """Return a page, which starts by calling the function of `site.js` with the page's name."""
        frame = environment()
        frame.filters["page"] = machine_page
        frame.filters["metric"] = units.named
        frame.filters["shown"] = lambda row: shown(row[1], row[2].point)
        frame.filters["date"] = lambda unix_s: time.strftime("%Y-%m-%d", time.gmtime(unix_s))
        built = time.strftime("%Y-%m-%d", time.gmtime())
        return frame.get_template(f"site/{name}.html").render(
            contents,
            here=name,
            has_live=self.live,
            root=root,
            built=built,
            start=as_json({"root": root, "page": name, "argument": argument}),
        )
