"""Python's clients: read_offers.py KIND URL TOKEN URI PROMPT ARGUMENTS, KIND one of mcp, mcp-legacy, fastmcp. Prints what they list, read and get."""
import asyncio
import json
import sys

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client


async def main(kind, url, token, uri, prompt, arguments):
    headers = {'Authorization': f'Bearer {token}'}
    if kind == 'fastmcp':
        async with fastmcp.Client(StreamableHttpTransport(url, headers=headers)) as client:
            resources, templates, prompts = await client.list_resources(), await client.list_resource_templates(), await client.list_prompts()
            contents, got = await client.read_resource(uri), await client.get_prompt(prompt, arguments)
    else:
        mode = 'legacy' if kind == 'mcp-legacy' else 'auto'
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            async with mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                resources = (await client.list_resources()).resources
                templates = (await client.list_resource_templates()).resource_templates
                prompts = (await client.list_prompts()).prompts
                contents, got = (await client.read_resource(uri)).contents, await client.get_prompt(prompt, arguments)
    print(json.dumps({'resources': [str(one.uri) for one in resources], 'templates': [one.uri_template for one in templates],
                      'prompts': [one.name for one in prompts], 'uri': str(contents[0].uri), 'text': contents[0].text,
                      'prompt': got.messages[0].content.text}))


kind, url, token, uri, prompt, arguments = sys.argv[1:]
asyncio.run(main(kind, url, token, uri, prompt, json.loads(arguments)))
