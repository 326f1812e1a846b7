"""The figures of the page: one file per kind, each from what a run says to figures without colour."""
