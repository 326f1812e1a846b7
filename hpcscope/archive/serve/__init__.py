"""The pages of a repository from a web server, with runs in progress; needs starlette and uvicorn."""
