"""A server that does in each of its tools one thing that no server should do, and in one what it should."""
import json
import os
import sys
import time

import plain

TOOLS = ['honest', 'dies', 'says_nothing', 'says_too_much', 'writes_junk', 'answers_another', 'breaks_its_promise',
         'asks_back', 'floods', 'needs_input', 'fails']
LIST = sys.argv[1] if len(sys.argv) > 1 else 'plain'
pages = iter(range(1, 1 << 30))


def describe(name, **more):
    return {'name': name, 'description': name, 'inputSchema': {'type': 'object', 'properties': {}}, **more}


def tools(params):
    if LIST == 'endless':
        return {'tools': [describe('honest')], 'nextCursor': f'page-{next(pages)}'}
    if LIST == 'huge':
        return {'tools': [describe(f'tool_{n}', title='x' * 60_000) for n in range(200)]}
    if LIST == 'odd':
        return {'tools': [describe('read_1og'), describe('read_log'), describe('Twice'), describe('twice'), describe('a' * 70),
                          describe('bad schema'), {**describe('no_schema'), 'inputSchema': {'type': 'string'}},
                          {**describe('unknown_word'), 'inputSchema': {'type': 'object', 'sometimes': True}}, 7,
                          describe('large', title='x' * 200_000), describe('honest')]}
    promise = {'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n']}
    return {'tools': [describe(name, **({'outputSchema': promise} if name == 'breaks_its_promise' else {})) for name in TOOLS]}


def call(id, name, arguments, ask):
    if name == 'honest':
        return plain.text_result('as it should be')
    if name == 'dies':
        os._exit(3)
    if name == 'says_nothing':
        return None
    if name == 'says_too_much':
        plain.write('x' * (8 << 20) + '\n')
    if name == 'writes_junk':
        plain.write('Server ready.\n')
    if name == 'answers_another':
        plain.send({'id': 987654, 'result': plain.text_result('yours')})
    if name == 'breaks_its_promise':
        return plain.text_result('{}', structuredContent={'n': 'none'})
    if name == 'asks_back':
        said = {method: ask(method, {}) for method in ('sampling/createMessage', 'elicitation/create', 'roots/list', 'ping')}
        return plain.text_result(json.dumps({method: answer and answer.get('error', {}).get('code', 'result')
                                             for method, answer in said.items()}))
    if name == 'floods':
        while True:
            plain.send({'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x' * 100}})
    if name == 'needs_input':
        return {'resultType': 'input_required', 'inputRequests': {'a': {'method': 'roots/list', 'params': {}}}, 'requestState': 's'}
    if name == 'fails':
        plain.send({'id': id, 'error': {'code': -32602, 'message': 'not like this'}})
    return None


if LIST == 'slow':
    time.sleep(3600)
plain.serve(tools, call)
