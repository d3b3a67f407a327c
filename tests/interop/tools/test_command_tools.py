"""Programs of this machine as tools: what a caller sends is an argument and nothing else, and no program outlives its call."""
import os
import pathlib
import secrets
import stat
import time

import pytest
from own_tools import call, failed, good, refused, sections
from tool_stack.service import strong

TOKEN = strong()
TEXT = {'type': 'string'}
OPTIONAL = {'type': 'string', 'optional': True}

# Prints each of its arguments on a line of its own, quoted.
SHOW = """#!/usr/bin/python3
import json, os, sys
print(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd(), 'stdin': sys.stdin.read()}))
"""


def script(folder, name, text):
    file = pathlib.Path(folder) / name
    file.write_text(text)
    file.chmod(0o700)
    return str(file)


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    return tmp_path_factory.mktemp('own-programs')


@pytest.fixture(scope='module')
def service(make_service, home):
    show = script(home, 'show', SHOW)
    token = home / 'token'
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), 'w') as out:
        out.write(TOKEN + '\n')
    run = {'kind': 'command', 'program': '/bin/sh'}
    return make_service('simple', **sections({
        'show': {'kind': 'command', 'program': show, 'answer': 'json', 'arguments': ['--fixed', '--opt={a}', '{b}', '--', '{c}'],
                 'input': '{text}', 'folder': str(home), 'environment': {'LANG': 'C.UTF-8', 'GIVEN': '{a}'},
                 'parameters': {'a': TEXT, 'b': OPTIONAL, 'c': TEXT, 'text': OPTIONAL}},
        'json': {'kind': 'command', 'program': '/bin/cat', 'input': 'json', 'answer': 'json',
                 'answer_schema': {'type': 'object', 'required': ['n'], 'properties': {'n': {'type': 'integer', 'maximum': 5}}},
                 'parameters': {'n': {'type': 'integer'}, 'list': {'type': 'array', 'optional': True}}},
        'token': {**run, 'arguments': ['-c', 'echo "$KEY"; echo "$KEY" >&2; exit "$CODE"'], 'stderr': 'show',
                  'secrets': {'key_file': str(token)}, 'environment': {'KEY': '{secret.key}', 'CODE': '{code}'},
                  'parameters': {'code': {'type': 'integer', 'minimum': 0, 'maximum': 9}}},
        'hidden': {**run, 'arguments': ['-c', 'echo private >&2; exit 7']},
        'bomb': {'kind': 'command', 'program': '/usr/bin/yes', 'answer_max': '64KiB'},
        'hang': {**run, 'arguments': ['-c', 'echo $$ > "$1"; sleep 1000 & echo $! >> "$1"; wait', 'sh', '{file}'], 'timeout': 10,
                 'parameters': {'file': TEXT}},
        'forks': {**run, 'arguments': ['-c', 'for i in 1 2 3 4 5 6 7 8; do sleep 1000 & echo $! >> "$1"; done; echo done', 'sh', '{file}'],
                  'parameters': {'file': TEXT}},
        'asks': {**run, 'arguments': ['-c', 'echo never'], 'read_only': False},
    }))


def is_gone(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


def await_gone(pids):
    until = time.monotonic() + 60
    while not all(is_gone(pid) for pid in pids):
        assert time.monotonic() < until, [pid for pid in pids if not is_gone(pid)]
        time.sleep(0.05)


def pids(file, count):
    found = file.read_text().split()
    assert len(found) == count, found
    return [int(one) for one in found]


NASTY = ['plain', '', 'a b', '$(touch /var/tmp/own-tool-was-here)', '`id`', '; id', '&& id', '| id', '> /var/tmp/x', '* ?', "'", '"', '\\', 'a\nb',
         '${HOME}', '%s', '{c}', '{{', '\u00e4\u4f60\U0001f600', '!', '~', '#', 'x' * 60000]


def test_whatever_a_caller_sends_is_one_argument(service):
    for value in NASTY:
        answer = call(service, 'show', a=value, c=value, text=value)
        good(answer)
        shown = answer['structured']
        assert shown['argv'] == ['--fixed', f'--opt={value}', '--', value]
        assert shown['stdin'] == value
    assert not pathlib.Path('/var/tmp/own-tool-was-here').exists()


def test_no_value_becomes_an_option(service):
    for value in ('-rf', '--', '-', '--output=/etc/passwd'):
        answer = call(service, 'show', a='x', b=value, c='y')
        assert refused(answer) == 'E_SHAPE' and 'args.b' in str(answer)
        # Behind the operator's "--", and inside of an element, it is no option.
        assert call(service, 'show', a=value, c=value)['structured']['argv'] == ['--fixed', f'--opt={value}', '--', value]
    assert call(service, 'show', a='x', b='b-', c='y')['structured']['argv'] == ['--fixed', '--opt=x', 'b-', '--', 'y']


def test_arguments_are_those_of_the_schema(service):
    assert refused(call(service, 'show', a='x')) == 'E_SHAPE'
    assert refused(call(service, 'show', a='x', c='y', d='z')) == 'E_SHAPE'
    assert refused(call(service, 'show', a=['x'], c='y')) == 'E_SHAPE'
    assert refused(call(service, 'show', a='a\0b', c='y')) == 'E_SHAPE'
    assert refused(call(service, 'show', a='x' * 70000, c='y')) == 'E_SHAPE'


def test_nothing_of_the_services_environment_is_handed_on(service, home):
    shown = call(service, 'show', a='v', c='y')['structured']
    # What Python and the kernel add by themselves is none of ours.
    assert {name: value for name, value in shown['env'].items() if name != 'LC_CTYPE'} == {'LANG': 'C.UTF-8', 'GIVEN': 'v'}
    assert shown['cwd'] == str(home)


def test_json_in_and_out(service):
    assert call(service, 'json', n=5, list=[1, 'a'])['structured'] == {'n': 5, 'list': [1, 'a']}
    assert refused(call(service, 'json', n=6)) == 'E_INTERNAL'  # against its own answer_schema


def test_a_secret_is_in_no_answer_and_no_output(service):
    assert good(call(service, 'token', code=0)) == '***\n'
    assert failed(call(service, 'token', code=3)) == 'the program ended with exit code 3\n***\n'
    assert TOKEN not in service.log.read_text()
    assert all(TOKEN not in file.read_text() for file in service.audit.iterdir() if file.suffix == '.jsonl')
    for command in (['config', 'show'], ['config', 'check'], ['list', '--json']):
        done = service.run(*command)
        assert TOKEN not in done.stdout + done.stderr


def test_stderr_stays_here_unless_the_operator_shows_it(service):
    assert failed(call(service, 'hidden')) == 'the program ended with exit code 7'
    assert 'private' not in service.log.read_text()


def test_one_that_writes_without_end_is_stopped(service):
    assert refused(call(service, 'bomb')) == 'E_LIMIT'


def test_one_that_hangs_is_stopped_with_all_that_it_started(service, tmp_path):
    file = tmp_path / 'pids'
    assert refused(call(service, 'hang', file=str(file))) == 'E_TIMEOUT'
    await_gone(pids(file, 2))


def test_what_a_program_leaves_behind_is_stopped(service, tmp_path):
    file = tmp_path / 'pids'
    assert good(call(service, 'forks', file=str(file))) == 'done\n'
    await_gone(pids(file, 8))


def test_who_does_not_say_read_only_is_asked(service, consent):
    before = len(consent.asked)
    good(call(service, 'asks'))
    assert [question['tool'] for question in consent.asked[before:]] == ['tools.asks']


@pytest.mark.parametrize('members, line', [
    ({'programm': '/bin/true'}, 'securetool.toml:tools.t.programm: no such key; the nearest is program'),
    ({'program': 'true'}, 'tools.t.program: must be an absolute path'),
    ({'program': '/bin/true', 'arguments': ['{x}']}, 'tools.t.arguments: names x, which is no parameter'),
    ({'program': '/bin/true', 'secrets': {'a_file': 'none'}}, 'tools.t.secrets.a_file: '),
    ({'program': '/bin/true', 'secrets': {'a_env': 'NOT_SET'}}, 'tools.t.secrets.a_env: the variable is not set'),
    ({'program': '/bin/true', 'secrets': {'a_file': 'placeholder'}}, 'tools.t.secrets.a_file: must not be a placeholder'),
    ({'program': '/bin/true', 'secrets': {'a_file': 'open'}}, 'tools.t.secrets.a_file: '),
    ({'program': '/bin/true', 'secrets': {'a_file': 'short'}}, 'tools.t.secrets.a_file: must have 8 characters or more'),
])
def test_a_tool_that_cannot_be_right_stops_the_start(make_service, service, members, line):
    settings = dict(service.settings)
    for name in [name for name in settings if name.startswith('tools.')]:
        del settings[name]
    other = type(service)(service.folder / f'bad-{secrets.token_hex(4)}', 'simple', service.authority, binary=service.binary,
                          changes={**settings, **sections({'t': {'kind': 'command', **members}})})
    for name, mode, text in (('placeholder', 0o600, 'changeme-changeme'), ('open', 0o644, TOKEN), ('short', 0o600, 'Vq8ZpR2')):
        (other.folder / name).write_text(text)
        (other.folder / name).chmod(mode)
    done = other.run('serve', check=False)
    assert done.returncode == 2 and line in done.stderr, done.stderr
    assert TOKEN not in done.stderr and 'changeme' not in done.stderr


def test_a_schema_that_is_not_understood_stops_the_start(service, tmp_path):
    settings = {name: value for name, value in service.settings.items() if not name.startswith('tools.')}
    tool = {'kind': 'command', 'program': '/bin/true', 'parameters': {'a': {'type': 'string', 'minLenght': 1}}}
    other = type(service)(tmp_path, 'simple', service.authority, binary=service.binary, changes={**settings, **sections({'t': tool})})
    line = 'tools.t: schema: /properties/a: unknown keyword minLenght'
    checked = other.run('config', 'check', check=False)
    assert checked.returncode == 2 and checked.stderr == line + '\n'
    served = other.run('serve', check=False)
    assert served.returncode == 1 and line in served.stderr


def test_a_program_that_the_file_tools_could_write_stops_the_start(service):
    program = script(service.folder / 'files', 'tool.txt', '#!/bin/sh\n')
    settings = {**service.settings, 'tools.count.kind': 'command', 'tools.count.description': 'd', 'tools.count.program': program}
    other = type(service)(service.folder / 'writable', 'simple', service.authority, binary=service.binary, changes=settings)
    done = other.run('config', 'check', check=False)
    assert done.returncode == 2 and 'connectors.files.root: must not hold the path of tools.count.program' in done.stderr
    os.chmod(program, stat.S_IRWXU | stat.S_IWOTH)
    done = other.run('config', 'check', check=False)
    assert 'tools.count.program: must not be open to be written by others' in done.stderr
    os.unlink(program)
