"""The same echo tool as others serve it: MCP over streamable HTTP, keep-alive, JSON answers.

Neither encrypts messages, authorises callers nor keeps an audit; they are a yardstick for
what a tool call costs elsewhere.
"""
import os
import pathlib

import mcp_load
from loaded_service import cpu_seconds
from stack import ports, process

HERE = pathlib.Path(__file__).resolve().parent
DEV = HERE.parents[1] / '.dev'


class Peer:
    """A running server of `command`, which is given its port."""

    def __init__(self, folder, name, command, path, *more):
        self.folder, self.name, self.command, self.path, self.more = pathlib.Path(folder), name, command, path, more
        self.port = ports.any_free()

    def __enter__(self):
        log = self.folder / f'{self.name}.log'
        self.process = process.start([*self.command, self.port, *self.more], log, env={**os.environ}, cwd=self.folder)
        process.wait_ready(self.name, self.process, log, lambda: not ports.free(self.port), 60)
        return self

    def __exit__(self, *fault):
        self.process.stop()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.port}{self.path}'

    def door(self):
        return mcp_load.session(self.url)

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)


def fastmcp(folder):
    return Peer(folder, 'FastMCP', (DEV / 'venv-peers/bin/python', HERE / 'peers/fastmcp_echo.py'), '/mcp')


def go_sdk(folder, tools=None):
    """`tools`: a file of more tools to offer, a line each, as tests/tool_search has them."""
    return Peer(folder, 'Go SDK', (DEV / 'tools/go_echo',), '/', *([tools] if tools else []))
