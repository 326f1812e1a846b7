"""The figures of the page: one file per kind, each from the results of a run to figures without color."""
