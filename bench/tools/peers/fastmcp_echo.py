"""The echo tool on FastMCP, over streamable HTTP: a peer to measure the tool service against.

usage: fastmcp_echo.py PORT
"""
import sys

from fastmcp import FastMCP

server = FastMCP('echo')


@server.tool
def say(text: str) -> str:
    """Answers its argument."""
    return text


if __name__ == '__main__':
    server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), path='/mcp', json_response=True,
               log_level='warning', show_banner=False, uvicorn_config={'access_log': False})
