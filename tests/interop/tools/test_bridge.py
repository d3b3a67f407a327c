"""Tools of foreign MCP servers, of several makers and both eras, called through the service by the Python client."""
import json

import pytest
from bridged import (
    NODE,
    PACKAGES,
    TOOLS,
    HttpServer,
    audit_lines,
    await_pins,
    await_tools,
    bridge,
    make_repository,
    node_server,
    pins,
    python_server,
    run,
    settings_of,
    text_of,
    until,
)
from scp import Refused
from test_modes import session
from tool_clients import client_of


@pytest.fixture(scope='module')
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp('git') / 'repository')


@pytest.fixture(scope='module')
def git(make_service, repository):
    rules = {'rules__git_log__repo_path.within': str(repository), 'rules__git_log__max_count.min': 1, 'rules__git_log__max_count.max': 5,
             'rules__git_log__max_count.optional': True, 'rules__git_status__repo_path.pattern': '/[a-z0-9/_-]+',
             'rules__git_diff__target.values': ['main', 'HEAD']}
    settings = python_server('git', 'mcp-server-git', '--repository', repository, reads=[str(repository)], processes=True,
                             environment__GIT_CONFIG_NOSYSTEM='1', **rules)
    return make_service('simple', **settings_of(settings))


def test_a_git_server_waits_for_its_approval_and_then_serves(git, repository):
    await_pins(git, {'git.git_log': 'new'})

    async def before(client):
        assert await client.list_capabilities() == []
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('git.git_log', repo_path=str(repository))
        assert caught.value.code == 'E_PIN'

    run(session(client_of(git), before))
    shown = git.run('pins', 'diff', 'git.git_log').stdout
    assert shown.startswith('new') and '+ description: ' in shown and '+ inputSchema' in shown
    assert 'approved git.git_log' in git.run('pins', 'approve', 'git.*').stdout

    async def after(client):
        await await_tools(client, ['git.git_log', 'git.git_status'])
        record = next(one for one in await client.list_capabilities() if one['id'] == 'git.git_log')
        assert record['origin']['kind'] == 'bridge' and record['origin']['tool'] == 'git_log'
        answer = await client.invoke_tool('git.git_log', repo_path=str(repository), max_count=3)
        assert not answer['is_error'] and 'begin the story' in text_of(answer), answer

    run(session(client_of(git), after))
    lines = audit_lines(git)
    calls = [line for line in lines if line['kind'] == 'seal' and line['tool'] == 'git.git_log']
    assert {line['origin'] for line in calls} == {'bridge'}
    assert {line['decision'].get('code') for line in calls} == {'E_PIN', None}
    assert [line['result']['status'] for line in calls if 'result' in line] == ['ok']
    states = [line['details']['state'] for line in lines
              if line.get('event') == 'bridged_tool' and line['details']['tool'] == 'git.git_log']
    assert states == ['new', 'pinned']
    assert git.run('audit', 'verify', check=False).returncode in (0, 3)


def test_rules_hold_before_the_server_is_asked(git, repository):
    until(lambda: 'git.git_log' in pins(git), 'the tools of git')
    git.run('pins', 'approve', 'git.*')
    path = str(repository)

    async def work(client):
        await await_tools(client, ['git.git_log', 'git.git_status', 'git.git_diff'])
        for arguments, rule in (({'repo_path': '/etc'}, f'args.repo_path: must be a path within {path}'),
                                ({'repo_path': path + '/../..'}, 'args.repo_path: must be a path within'),
                                ({'repo_path': path + 'x'}, 'args.repo_path: must be a path within'),
                                ({'repo_path': path, 'max_count': 6}, 'args.max_count: must be at most 5'),
                                ({'repo_path': path, 'max_count': 0}, 'args.max_count: must be at least 1'),
                                ({'repo_path': path, 'other': 1}, 'args.other: the tool names no such argument')):
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('git.git_log', **arguments)
            assert caught.value.code == 'E_POLICY' and rule in str(caught.value), arguments
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('git.git_status', repo_path='--help')
        assert caught.value.code == 'E_POLICY' and 'must match the pattern' in str(caught.value)
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('git.git_diff', repo_path=path, target='--output=/var/tmp/x')
        assert caught.value.code == 'E_POLICY' and 'args.target: must be one of main, HEAD' in str(caught.value)
        for tool, arguments in (('git.git_log', {'repo_path': path + '/.', 'max_count': 5}), ('git.git_diff', {'repo_path': path, 'target': 'main'})):
            assert not (await client.invoke_tool(tool, **arguments))['is_error'], tool

    run(session(client_of(git), work))


def test_a_scope_names_one_tool_of_a_bridge(make_service, repository):
    settings = settings_of(python_server('git', 'mcp-server-git', reads=[str(repository)], processes=True, first_seen='trust'))
    service = make_service('simple', **{**settings, 'security.api_key_scopes': 'cap:list,tool:invoke:git.git_log'})

    async def work(client):
        assert await await_tools(client, ['git.git_log']) == {'git.git_log'}
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('git.git_status', repo_path=str(repository))
        assert caught.value.code == 'E_TOOL'

    run(session(client_of(service), work))


def test_consent_is_asked_for_a_foreign_tool_by_default(make_service, consent):
    settings = python_server('clock', 'mcp-server-time', first_seen='trust')
    del settings['bridges.clock.consent']
    service = make_service('simple', **settings_of(settings))

    async def work(client):
        await await_tools(client, ['clock.get_current_time', 'clock.convert_time'])
        before = len(consent.asked)
        answer = await client.invoke_tool('clock.get_current_time', timezone='Europe/Vienna')
        assert not answer['is_error'] and 'Europe/Vienna' in text_of(answer)
        assert len(consent.asked) == before + 1 and consent.asked[-1]['tool'] == 'clock.get_current_time'
        consent.decision = {'decision': 'deny', 'by': 'operator', 'scope': 'once'}
        try:
            with pytest.raises(Refused) as caught:
                await client.invoke_tool('clock.get_current_time', timezone='Europe/Vienna')
        finally:
            consent.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'once'}
        assert caught.value.code == 'E_CONSENT'
        wrong = await client.invoke_tool('clock.get_current_time', timezone='Nowhere/None')
        assert wrong['is_error']

    run(session(client_of(service), work))


def test_an_older_server_is_spoken_to_in_its_era(make_service):
    service = make_service('simple', **settings_of(node_server('every', 'server-everything', 'stdio', first_seen='trust')))

    async def work(client):
        await await_tools(client, ['every.echo', 'every.get-sum', 'every.get-structured-content'])
        assert 'Echo: hello' in text_of(await client.invoke_tool('every.echo', message='hello'))
        assert '7' in text_of(await client.invoke_tool('every.get-sum', a=3, b=4))
        weather = await client.invoke_tool('every.get-structured-content', location='Chicago')
        assert weather['structured']['temperature']
        seen = []
        await client.invoke_tool('every.trigger-long-running-operation', progress=seen.append, duration=1, steps=2)
        assert seen
        image = await client.invoke_tool('every.get-tiny-image')
        assert any(part.get('media_type') == 'image/png' for part in image['content'])
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('every.trigger-long-running-operation', deadline_ms=300, duration=60, steps=2)
        assert caught.value.code == 'E_TIMEOUT'
        environment = text_of(await client.invoke_tool('every.get-env'))
        assert 'SCP_' not in environment and service.secret('secret_key') not in environment

    run(session(client_of(service), work))


def test_walls_stand_around_a_file_server(make_service, tmp_path):
    (tmp_path / 'open').mkdir()
    (tmp_path / 'open/note.txt').write_text('for the server')
    (tmp_path / 'closed').mkdir()
    (tmp_path / 'closed/secret.txt').write_text('not for the server')
    settings = node_server('disk', 'server-filesystem', tmp_path, first_seen='trust', reads=[str(tmp_path / 'open')])
    service = make_service('simple', **settings_of(settings))

    async def work(client):
        await await_tools(client, ['disk.read_text_file', 'disk.write_file'])
        read = await client.invoke_tool('disk.read_text_file', path=str(tmp_path / 'open/note.txt'))
        assert not read['is_error'] and 'for the server' in text_of(read)
        # The server itself allows all of tmp_path; the walls do not.
        secret = await client.invoke_tool('disk.read_text_file', path=str(tmp_path / 'closed/secret.txt'))
        assert secret['is_error'] and 'not for the server' not in json.dumps(secret)
        written = await client.invoke_tool('disk.write_file', path=str(tmp_path / 'open/new.txt'), content='x')
        assert written['is_error'] and not (tmp_path / 'open/new.txt').exists()

    run(session(client_of(service), work))


def go_server(tmp_path):
    return HttpServer(tmp_path, 'go', lambda port: [TOOLS / 'mcp_everything_server', '-http', f'127.0.0.1:{port}'], path='/')


def old_http_server(tmp_path):
    script = PACKAGES / 'server-everything/dist/index.js'
    return HttpServer(tmp_path, 'everything', lambda port: [NODE, script, 'streamableHttp'], env={'PORT': '{port}'})


def test_a_server_over_http_in_the_newest_era(make_service, tmp_path):
    with go_server(tmp_path) as server:
        service = make_service('simple', **settings_of(bridge('go', kind='http', url=server.url, first_seen='trust', oldest_version='2026-07-28')))

        async def work(client):
            await await_tools(client, ['go.test_simple_text', 'go.test_error_handling'])
            assert not (await client.invoke_tool('go.test_simple_text'))['is_error']
            assert (await client.invoke_tool('go.test_error_handling'))['is_error']
            image = await client.invoke_tool('go.test_image_content')
            assert any(part.get('media_type', '').startswith('image/') for part in image['content'])
            seen = []
            await client.invoke_tool('go.test_tool_with_progress', progress=seen.append)
            assert len(seen) >= 2

        run(session(client_of(service), work))
        assert '"mcp":"2026-07-28"' in service.log.read_text()


def test_a_server_over_http_in_an_older_era(make_service, tmp_path):
    with old_http_server(tmp_path) as server:
        service = make_service('simple', **settings_of(bridge('old', kind='http', url=server.url, first_seen='trust')))

        async def work(client):
            await await_tools(client, ['old.echo', 'old.get-sum'])
            assert 'Echo: over HTTP' in text_of(await client.invoke_tool('old.echo', message='over HTTP'))
            seen = []
            await client.invoke_tool('old.trigger-long-running-operation', progress=seen.append, duration=1, steps=2)
            assert seen

        run(session(client_of(service), work))
        assert '"mcp":"2025-11-25"' in service.log.read_text()


def test_a_floor_keeps_older_servers_out(make_service, tmp_path):
    with old_http_server(tmp_path) as server:
        settings = settings_of(bridge('old', kind='http', url=server.url, first_seen='trust', oldest_version='2026-07-28'),
                               python_server('clock', 'mcp-server-time', first_seen='trust', oldest_version='2026-07-28'))
        service = make_service('simple', **settings)

        async def work(client):
            await await_tools(client, ['clock.get_current_time'], ['old.echo'])

        run(session(client_of(service), work))
        until(lambda: 'no revision of MCP since oldest_version' in service.log.read_text(), 'the refusal in the log')
        assert not [tool for tool in pins(service) if tool.startswith('old.')]


def test_the_service_starts_whatever_its_bridges_do(make_service):
    settings = settings_of(bridge('gone', kind='http', url='http://127.0.0.1:9/mcp', first_seen='trust'),
                           bridge('mute', kind='stdio', command='/bin/true', first_seen='trust'),
                           python_server('clock', 'mcp-server-time', first_seen='trust'))
    service = make_service('simple', **settings)

    async def work(client):
        await await_tools(client, ['clock.get_current_time'])
        assert not (await client.invoke_tool('clock.get_current_time', timezone='UTC'))['is_error']
        with pytest.raises(Refused) as caught:
            await client.invoke_tool('mute.anything')
        assert caught.value.code == 'E_TOOL'

    run(session(client_of(service), work))
