"""The pages of the site of a repository: clusters, ranking, runs, comparison; their data come in pieces."""

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
    """Newest first; at least one."""

    @property
    def id(self) -> str:
        """The name of its page."""
        return cluster_id(self.name)

    @property
    def newest(self) -> Entry:
        """Its newest run."""
        return self.runs[0]


@dataclass(frozen=True)
class ShownChange:
    """A change of one figure in words."""

    case: str
    """The id of its case."""
    words: str
    shown: str
    worse: float
    """By which share the figure became worse; negative where it became better."""


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
    """Whether a server shows runs in progress, too."""

    def index(self, clusters: Sequence[ClusterPage], cases: int, historic: Sequence[PublishedMachine]) -> str:
        """Return the first page: all clusters, and the historic machines."""
        runs = sum(len(cluster.runs) for cluster in clusters)
        return self._page("index", {"clusters": clusters, "runs": runs, "cases": cases, "historic": historic})

    def machine(self, of: PublishedMachine, figures: Sequence[tuple[str, FigureSeries, PrintedCourse]]) -> str:
        """Return the page of a historic machine: what its source says; `figures`: each with the id of its case."""
        return self._page("machine", {"machine": of, "figures": figures}, root="../")

    def cluster(
        self,
        of: ClusterPage,
        sheet: Sequence[tuple[str, str]],
        events: Sequence[ShownEvent],
        reports: set[str],
        fewest_runs: int,
    ) -> str:
        """Return the page of a cluster: data sheet, history, its newest runs.

        `reports`: the ids of runs with one.
        """
        return self._page(
            "cluster",
            {"cluster": of, "sheet": sheet, "events": events, "reports": reports, "fewest_runs": fewest_runs},
            of.id,
            root="../",
        )

    def ranking(self) -> str:
        """Return the page that ranks clusters by a chosen figure."""
        return self._page("ranking", {})

    def runs(self, number: int) -> str:
        """Return the page of all runs, of which there are so many."""
        return self._page("runs", {}, number_of(number))

    def compare(self, number: int) -> str:
        """Return the page that sets chosen runs side by side."""
        return self._page("compare", {}, number_of(number))

    def in_progress(self) -> str:
        """Return the page of the runs in progress, which only a server has."""
        return self._page("live", {})

    def _page(self, name: str, contents: Mapping[str, Any], argument: object = None, root: str = "") -> str:
        """Return a page; it begins with the function of `site.js` that has its name."""
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
