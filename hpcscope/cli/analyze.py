"""`scope analyze`: derive everything from raw data again."""

from hpcscope.cli.options import WrittenRunFolder
from hpcscope.errors import UsageError


def command(run: WrittenRunFolder) -> None:
    """Recompute a run's statistics, models, findings and report from its samples or profiles."""
    from hpcscope.engine import analysis

    kind = analysis.kind_of(run)
    if kind == "campaign":
        from hpcscope.cli.campaign import show
        from hpcscope.engine import campaign

        show(campaign.derive(run.absolute()), json=False)
    elif kind == "health":
        raise UsageError(f"{run}: is a health check, which needs no analysis: `scope show` derives the verdicts")
    elif kind == "monitored":
        from hpcscope.cli.monitor import show_profile
        from hpcscope.engine import profile

        show_profile(profile.explain(run))
    else:
        from hpcscope.cli.progress import stage_progress
        from hpcscope.report.terminal import verdict

        with stage_progress("analyzing") as stage:
            explained = analysis.explain(run, stage)
        verdict.show(explained)
