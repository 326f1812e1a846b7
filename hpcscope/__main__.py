"""`python -m hpcscope` is `scope`, for use if a script of that name may be missing."""

from hpcscope.cli import main

main()
