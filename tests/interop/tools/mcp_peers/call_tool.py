"""Python's clients: call_tool.py KIND URL TOKEN TOOL ARGUMENTS, KIND one of mcp, mcp-legacy, fastmcp. Prints as call_tool.mjs does."""
import asyncio
import json
import sys

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client


async def main(kind, url, token, tool, arguments):
    headers = {'Authorization': f'Bearer {token}'}
    if kind == 'fastmcp':
        async with fastmcp.Client(StreamableHttpTransport(url, headers=headers)) as client:
            tools, result = await client.list_tools(), await client.call_tool_mcp(tool, arguments)
    else:
        mode = 'legacy' if kind == 'mcp-legacy' else 'auto'
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            async with mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                tools, result = (await client.list_tools()).tools, await client.call_tool(tool, arguments)
    text, failed = result.content[0].text, bool(result.is_error)
    print(json.dumps({'tools': [one.name for one in tools], 'text': text, 'isError': failed}))


kind, url, token, tool, arguments = sys.argv[1:]
asyncio.run(main(kind, url, token, tool, json.loads(arguments)))
