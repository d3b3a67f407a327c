"""What the vulnerable servers have in common: MCP over standard input and output."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'interop/tools/mcp_servers'))

import plain  # noqa: E402


def serve(*functions):
    """Each function is a tool. What it returns is the answer; what it raises is told to the caller."""
    tools = {one.__name__: one for one in functions}

    def describe(one):
        kinds = {str: {'type': 'string'}, list: {'type': 'array', 'items': {'type': 'string'}}}
        properties = {name: kinds[kind] for name, kind in one.__annotations__.items()}
        return {'name': one.__name__, 'description': one.__doc__, 'inputSchema': {'type': 'object', 'properties': properties, 'required': list(properties)}}

    def call(id, name, arguments, ask):
        try:
            return plain.text_result(str(tools[name](**arguments)))
        except Exception as error:
            return plain.text_result(f'{type(error).__name__}: {error}', isError=True)

    plain.serve(lambda params: {'tools': [describe(one) for one in functions]}, call)
