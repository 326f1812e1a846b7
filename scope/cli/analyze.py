"""`scope analyze`: derive everything from raw data again."""

from __future__ import annotations

from scope.cli.options import WrittenRunFolder


def command(run: WrittenRunFolder) -> None:
    """Derive statistics, models, findings and the report of a run from its samples or profiles again."""
    from scope.engine import analysis

    kind = analysis.kind_of(run)
    if kind == "campaign":
        from scope.cli.campaign import show
        from scope.engine import campaign

        show(campaign.derive(run.absolute()), json=False)
    elif kind == "monitored":
        from scope.cli.monitor import show_profile
        from scope.engine import monitor

        show_profile(monitor.explain(run))
    else:
        from scope.report.terminal import verdict

        verdict.show(analysis.explain(run))
