"""Tools of an operator's own, in the configuration of a service."""
import asyncio

from scp import Refused
from tool_clients import client_of

GRANTS = 'cap:list,tool:invoke:tools.*,tool:invoke:files.*'


def sections(tools):
    """{'name': {...}} as settings by dotted name."""
    flat = {'security.api_key_scopes': GRANTS}

    def put(path, value):
        if isinstance(value, dict):
            for name, inner in value.items():
                put(f'{path}.{name}', inner)
        else:
            flat[path] = value

    for name, members in tools.items():
        put(f'tools.{name}', {'description': f'Tool {name}.', 'read_only': True, **members})
    return flat


def call(service, name, /, **arguments):
    return invoke(service, f'tools.{name}', **arguments)


def invoke(service, tool, /, **arguments):
    """The answer, or the Refused that came in place of it."""
    async def work():
        client = client_of(service)
        await client.connect()
        try:
            return await client.invoke_tool(tool, **arguments)
        except Refused as refusal:
            return refusal
        finally:
            await client.disconnect()

    return asyncio.run(asyncio.wait_for(work(), 120))


def text(answer):
    assert not isinstance(answer, Refused), answer
    return answer['content'][0]['text']


def good(answer):
    """The text of an answer that is no error."""
    assert not isinstance(answer, Refused) and not answer['is_error'], answer
    return text(answer)


def failed(answer):
    """The text of an answer in which the tool says that it failed."""
    assert not isinstance(answer, Refused) and answer['is_error'], answer
    return text(answer)


def refused(answer):
    """The code of a refusal."""
    assert isinstance(answer, Refused), answer
    return answer.code
