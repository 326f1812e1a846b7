"""`python -m scope` is `scope`, where no script of that name can be relied on."""

from scope.cli import main

main()
