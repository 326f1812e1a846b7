"""Web server for the pages of a repository and runs in progress; needs starlette and uvicorn."""
