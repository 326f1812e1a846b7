"""One file per batch system; each holds a `SCHEDULER` and is found by walking this package."""
