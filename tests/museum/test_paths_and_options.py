"""Servers that leave their folder, or take an argument for an option. Behind the bridge a rule of the operator stops the call, and the walls stop the
server where no rule does."""
import pytest
from bridged import await_tools, make_repository, run, settings_of
from exploits import bridged_replica, call_replica, stopped_by
from holes import shows
from own_tools import failed, good, invoke, text
from scp import Refused
from test_modes import session
from tool_clients import client_of

SECRET = 'for nobody but its owner'


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    """A folder `open` that the servers are for, and others beside it that they are not."""
    top = tmp_path_factory.mktemp('world')
    make_repository(top / 'open')
    make_repository(top / 'open-private')
    (top / 'open-private/secret.txt').write_text(SECRET)
    (top / 'open/link').symlink_to(top / 'open-private/secret.txt')
    return top


@pytest.fixture(scope='module')
def bridges(make_service, world):
    """`git` and `disk` with rules; `bare` and `bare-disk` with walls alone."""
    folder = str(world / 'open')
    rules = {f'rules__{tool}__repo_path__within': folder for tool in ('git_add', 'git_init', 'git_diff', 'git_log')}
    rules |= {'rules__git_add__files__within': '.', 'rules__git_diff__target__pattern': '[A-Za-z0-9._/][A-Za-z0-9._/-]*'}
    git = {'processes': True, 'environment__GIT_CONFIG_NOSYSTEM': '1', 'writes': [folder]}
    service = make_service(**settings_of(
        bridged_replica('git', 'git.py', folder, reads=[folder], **git, **rules),
        bridged_replica('bare', 'git.py', folder, reads=[folder], **git),
        bridged_replica('disk', 'disk.py', folder, reads=[folder], rules__read__path__within=folder),
        bridged_replica('bare-disk', 'disk.py', folder, reads=[folder])))

    async def listed(client):
        await await_tools(client, ['git.git_add', 'bare.git_add', 'disk.read', 'bare-disk.read'])

    run(session(client_of(service), listed))
    return service


def refused_by_rule(service, tool, words, **arguments):
    refusal = invoke(service, tool, **arguments)
    assert isinstance(refusal, Refused) and refusal.code == 'E_POLICY' and words in str(refusal), refusal
    assert stopped_by(service, tool) == ('argument_rules', 'E_POLICY')


def staged(world):
    return call_replica('git.py', [world / 'open'], 'git_diff', repo_path=str(world / 'open'), target='--cached')[0]


@shows('CVE-2026-27735')
def test_a_file_from_outside_is_not_staged(world, bridges):
    stolen = {'repo_path': str(world / 'open'), 'files': ['../open-private/secret.txt']}
    refused_by_rule(bridges, 'git.git_add', 'args.files', **stolen)
    assert 'Permission denied' in failed(invoke(bridges, 'bare.git_add', **stolen))
    assert SECRET not in staged(world)
    assert good(invoke(bridges, 'git.git_add', repo_path=str(world / 'open'), files=['story.txt'])) == 'staged'

    assert call_replica('git.py', [world / 'open'], 'git_add', **stolen) == ('staged', False)
    assert SECRET in staged(world)


@shows('CVE-2025-68143')
def test_no_repository_is_made_elsewhere(world, bridges):
    place = world / 'new'
    refused_by_rule(bridges, 'git.git_init', 'args.repo_path: must be a path within', repo_path=str(place))
    assert 'Permission denied' in failed(invoke(bridges, 'bare.git_init', repo_path=str(place)))
    assert not place.exists()
    assert good(invoke(bridges, 'git.git_init', repo_path=str(world / 'open/part'))) == ''
    assert (world / 'open/part/.git').is_dir()

    call_replica('git.py', [world / 'open'], 'git_init', repo_path=str(place))
    assert (place / '.git').is_dir()


@shows('CVE-2025-68144')
def test_no_argument_becomes_an_option_that_writes(world, bridges):
    file = world / 'authorized_keys'
    file.write_text('a key')
    trick = {'repo_path': str(world / 'open'), 'target': f'--output={file}'}
    refused_by_rule(bridges, 'git.git_diff', 'args.target: must match the pattern', **trick)
    assert 'Permission denied' in failed(invoke(bridges, 'bare.git_diff', **trick))
    assert file.read_text() == 'a key'
    good(invoke(bridges, 'git.git_diff', repo_path=str(world / 'open'), target='main'))

    call_replica('git.py', [world / 'open'], 'git_diff', **trick)
    assert file.read_text() != 'a key'


@shows('CVE-2025-68145')
def test_another_repository_is_not_read(world, bridges):
    other = str(world / 'open-private')
    refused_by_rule(bridges, 'git.git_log', 'args.repo_path: must be a path within', repo_path=other)
    assert 'begin the story' not in failed(invoke(bridges, 'bare.git_log', repo_path=other))
    assert good(invoke(bridges, 'git.git_log', repo_path=str(world / 'open'))) == 'begin the story'

    assert call_replica('git.py', [world / 'open'], 'git_log', repo_path=other) == ('begin the story', False)


@shows('CVE-2025-53110')
def test_a_name_that_begins_alike_is_another_folder(world, bridges, service):
    path = str(world / 'open-private/secret.txt')
    refused_by_rule(bridges, 'disk.read', 'args.path: must be a path within', path=path)
    assert 'PermissionError' in failed(invoke(bridges, 'bare-disk.read', path=path))
    for name, words in (('../files-private/secret.txt', 'no part of the path may start with ".."'), (path, 'the path must be relative')):
        refusal = invoke(service, 'files.read', path=name)
        assert isinstance(refusal, Refused) and refusal.code == 'E_POLICY' and words in str(refusal)
    assert good(invoke(bridges, 'disk.read', path=str(world / 'open/story.txt'))) == 'once\n'

    assert call_replica('disk.py', [world / 'open'], 'read', path=path) == (SECRET, False)


@shows('CVE-2025-53109')
def test_a_link_leads_nowhere(world, bridges, service):
    link = str(world / 'open/link')
    for tool in ('disk.read', 'bare-disk.read'):
        # The rule compares texts and lets the name pass: the walls do not.
        answer = invoke(bridges, tool, path=link)
        assert 'PermissionError' in failed(answer) and SECRET not in text(answer)
    (service.folder / 'files/link.txt').symlink_to(world / 'open-private/secret.txt')
    refusal = invoke(service, 'files.read', path='link.txt')
    assert isinstance(refusal, Refused) and 'this path is not allowed' in str(refusal)
    assert stopped_by(service, 'files.read') == ('execute', 'E_POLICY')

    assert call_replica('disk.py', [world / 'open'], 'read', path=link) == (SECRET, False)
