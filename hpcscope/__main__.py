"""`python -m hpcscope` is `scope`, where no script of that name can be relied on."""

from hpcscope.cli import main

main()
