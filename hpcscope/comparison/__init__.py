"""Two runs, case by case: effect, interval, corrected test, verdict."""

MEASURED = "comparison.json"
"""The file that marks the directory of an interleaved comparison."""
