"""Offers the tools of a list, a line each: name, description and names of arguments, parted by tabs. A call answers what it was called with."""
import json
import pathlib
import sys

import plain


def tool(line):
    name, description, arguments = line.split('\t')
    properties = {one: {'type': 'string', 'description': f'The {one.replace("_", " ")}.'} for one in arguments.split(',') if one}
    return {'name': name, 'description': description, 'inputSchema': {'type': 'object', 'properties': properties, 'required': list(properties)[:1]}}


TOOLS = [tool(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
plain.serve(lambda params: {'tools': TOOLS}, lambda id, name, arguments, ask: plain.text_result(f'{name} {json.dumps(arguments)}'))
