"""Two runs, case by case: effect, interval, corrected test, verdict."""
