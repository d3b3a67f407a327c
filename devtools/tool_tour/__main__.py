"""Four services, one for each security mode; the same tools in each; everything that is refused; and clients and servers that know MCP alone."""
import asyncio
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'clients/python'))

from scp import Client, Refused  # noqa: E402
from tool_stack.authority import Authority  # noqa: E402
from tool_stack.hooks import ConsentHook  # noqa: E402
from tool_stack.identity import IdentityProvider  # noqa: E402
from tool_stack.service import SCOPES, ToolService, strong  # noqa: E402
from tool_tour.mcp_clients import McpTour  # noqa: E402
from tour.show import say  # noqa: E402

FOLDER = ROOT / '.dev/tool_tour'
QUERY = 'SELECT customer, sum(amount) AS total FROM orders GROUP BY customer ORDER BY customer'
WHAT = {
    'simple': 'an API key that is proved and never sent; for one machine',
    'basic': 'signed tokens over TLS 1.3',
    'encrypted': 'X25519 and AES-256-GCM for every message, without TLS',
    'enterprise': 'access tokens of an identity provider over TLS 1.3',
}


def credentials(service):
    options = {'secret_key': service.secret('secret_key'), 'kdf_salt': service.secret('kdf_salt'), 'ca': service.authority.roots}
    if service.mode in ('simple', 'encrypted'):
        return {**options, 'api_key': service.secret('api_key')}
    token = service.mint() if service.mode == 'basic' else service.identity.token('agent')
    return {**options, 'token': token}


async def call(client, tool, **arguments):
    print(f'  {tool} {arguments}')
    answer = await client.invoke_tool(tool, **arguments)
    for part in answer['content']:
        print('    ' + part.get('text', '(bytes)').strip().replace('\n', '\n    '))
    print(f'    audited as line {answer["audit"]["seq"]}')


async def refused(client, what, tool, **arguments):
    try:
        await client.invoke_tool(tool, **arguments)
    except Refused as refusal:
        print(f'  {what:<44} {refusal.code:<10} {refusal.message}')
    else:
        raise SystemExit(f'{what}: was not refused')


async def show_tools(service):
    client = Client(service.url, service.mode, **credentials(service))
    opened = await client.connect()
    print(f'  session {opened["session_id"]} for {opened["principal"]["sub"]}, suite {client.suite}')
    print('  tools: ' + ' '.join(one['id'] for one in await client.list_capabilities()))
    await call(client, 'sql.load', file='orders.csv', table='orders')
    await call(client, 'sql.query', sql=QUERY)
    await call(client, 'files.read', path='notes/welcome.txt')
    await call(client, 'files.write', path='notes/answer.txt', content='written by a tool', mode='create')
    await client.disconnect()


async def show_refusals(service, consent):
    client = Client(service.url, service.mode, **credentials(service))
    await client.connect()
    await refused(client, 'SQL that reads a file', 'sql.query', sql="SELECT * FROM read_csv('/etc/passwd')")
    await refused(client, 'SQL that hides it', 'sql.query', sql='SELECT (SELECT count(*) FROM "/etc/passwd")')
    await refused(client, 'two statements', 'sql.query', sql='SELECT 1; DROP TABLE orders')
    await refused(client, 'a setting', 'sql.query', sql='SET memory_limit = \'1TB\'')
    await refused(client, 'a path that climbs out', 'files.read', path='../data/orders.csv')
    await refused(client, 'an ending that is not allowed', 'files.read', path='notes/key.pem')
    await refused(client, 'a tool that is not there', 'files.format_disk')
    await refused(client, 'an argument of the wrong type', 'sql.query', sql=42)
    consent.decision = {'decision': 'deny', 'by': 'operator', 'scope': 'once'}
    await refused(client, 'a write that the operator denies', 'files.write', path='notes/x.txt', content='x', mode='create')
    await client.disconnect()


async def show_strangers(service):
    for what, change in (('a wrong API key', {'api_key': strong()}), ('a server without the shared secret', {'secret_key': strong()})):
        try:
            await Client(service.url, service.mode, **{**credentials(service), **change}).connect()
        except Refused as refusal:
            print(f'  {what:<44} {refusal.code:<10} {refusal.message}')
        else:
            raise SystemExit(f'{what}: was not refused')


def show_command_line(service):
    arguments = ['call', 'sql.query', f'sql={QUERY}']
    print('  $ securetool ' + ' '.join(arguments))
    print('    ' + service.run(*arguments).stdout.strip().replace('\n', '\n    '))
    print('  $ securetool audit verify')
    print('    ' + service.run('audit', 'verify').stdout.strip().replace('\n', '\n    '))


def main(folder=None):
    """In a new `folder`, or in the one of the last tour, which goes."""
    if folder is None:
        folder = FOLDER
        shutil.rmtree(folder, ignore_errors=True)
    authority = Authority(folder / 'authority')
    consent = ConsentHook()
    identity = IdentityProvider(folder / 'identity', authority, 'https://tools.example/scp',
                                {'agent': ('agent-Vq8ZpR2mXw6TbY4kLc9N', ' '.join(SCOPES))})
    say('An identity provider starts, and one tool service for each mode')
    identity.start()
    services = {mode: ToolService(folder / mode, mode, authority, identity, changes={'hooks.consent_url': consent.url}) for mode in WHAT}
    try:
        for mode, service in services.items():
            service.start()
            say(f'{mode}: {WHAT[mode]} ({service.url})')
            asyncio.run(show_tools(service))
        say('What is refused, and how')
        asyncio.run(show_strangers(services['encrypted']))
        asyncio.run(show_refusals(services['encrypted'], consent))
        say('The same from the command line, written in C++; and the proof of the audit trail')
        show_command_line(services['encrypted'])
        McpTour(folder / 'mcp', authority).show()
    finally:
        for service in services.values():
            service.stop()
        identity.stop()
        consent.stop()
    print(f'\nConfigurations, logs and audit trails are in {os.path.relpath(folder, ROOT)}.')


if __name__ == '__main__':
    main(*map(pathlib.Path, sys.argv[1:2]))
