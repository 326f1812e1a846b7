"""`python -m scope` is `scope`."""

from scope.cli import main

main()
