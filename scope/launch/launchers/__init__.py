"""One file per launcher; each holds a `LAUNCHER` and is found by walking this package."""
