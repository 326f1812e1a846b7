"""Two runs, case by case: effect, interval, corrected test, verdict."""

MEASURED = "comparison.json"
"""The file that marks the folder of a comparison that was measured in turn."""
