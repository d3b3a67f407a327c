"""The protocol of an MCP server over standard input and output, as far as the servers of these tests need it."""
import json
import os
import sys
import threading
import time

WRITING = threading.Lock()


def send(message):
    write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')


def write(text):
    with WRITING:
        sys.stdout.write(text)
        sys.stdout.flush()


def tell_changes(file, kind):
    """Says from now on that the list of `kind` has changed whenever `file` does."""
    def watch():
        before = os.stat(file)
        while True:
            time.sleep(0.05)
            now = os.stat(file)
            if (now.st_mtime_ns, now.st_ino) != (before.st_mtime_ns, before.st_ino):
                before = now
                send({'method': f'notifications/{kind}/list_changed'})

    threading.Thread(target=watch, daemon=True).start()


def text_result(text, **more):
    return {'content': [{'type': 'text', 'text': text}], **more}


class Refusal(Exception):
    """What a method of `more` raises to answer with an error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def serve(tools, call, version='2025-11-25', more=None):
    """`tools(params)` is the result of tools/list; `call(id, name, arguments, ask)` that of a call, or None where
    it answered by itself. `ask(method)` sends a request to the client and returns what it said.
    `more` has further methods: a function of the parameters that gives the result, or None for no answer."""
    more = more or {}
    capabilities = {kind: {'listChanged': True} for kind in ('tools', *{name.split('/')[0] for name in more})}
    waiting = {}
    number = iter(range(1, 1 << 30))

    def ask(method, params):
        key = f'server-{next(number)}'
        done = threading.Event()
        waiting[key] = [done, None]
        send({'id': key, 'method': method, 'params': params})
        done.wait(30)
        return waiting.pop(key)[1]

    def answer(message):
        result = call(message['id'], message['params']['name'], message['params'].get('arguments', {}), ask)
        if result is not None:
            send({'id': message['id'], 'result': result})

    for line in sys.stdin:
        message = json.loads(line)
        method = message.get('method')
        if method is None:
            if message.get('id') in waiting:
                waiting[message['id']][1] = message
                waiting[message['id']][0].set()
        elif method == 'initialize':
            send({'id': message['id'], 'result': {'protocolVersion': version, 'capabilities': capabilities,
                                                  'serverInfo': {'name': 'plain', 'version': '1'}}})
        elif method == 'tools/list':
            send({'id': message['id'], 'result': tools(message.get('params', {}))})
        elif method == 'tools/call':
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        elif method in more:
            try:
                result = more[method](message.get('params', {}))
                if result is not None:
                    send({'id': message['id'], 'result': result})
            except Refusal as refusal:
                send({'id': message['id'], 'error': {'code': refusal.code, 'message': str(refusal)}})
        elif 'id' in message:
            send({'id': message['id'], 'error': {'code': -32601, 'message': 'no such method'}})
