"""lakeproxy as a command: check, --help, --version, and settings that are wrong."""
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def run(stack, tmp_path):
    def run(*arguments, **settings):
        env = {**stack.catalog.environment(), **settings}
        return subprocess.run([stack.state['binary'], *arguments], env=env, cwd=tmp_path, timeout=60,
                              text=True, capture_output=True, check=False)
    return run


def test_check_accepts_a_lake_that_is_up(run):
    assert run('check').returncode == 0


@pytest.mark.parametrize('name, value', [
    ('LAKEPROXY_PG_PORT', '1'), ('LAKEPROXY_S3_ENDPOINT', 'http://127.0.0.1:1'),
    ('LAKEPROXY_S3_ROOT_SECRET', 'not the secret'), ('LAKEPROXY_S3_BUCKET', 'not-there'),
    ('LAKEPROXY_PG_DATABASE', 'not_there'), ('LAKEPROXY_PORT', '70000')])
def test_check_says_in_one_line_what_is_wrong(run, name, value):
    done = run('check', **{name: value})
    told = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert done.returncode != 0
    assert told and all(len(line) < 400 for line in told)
    assert not any('not the secret' in line for line in told)


def test_an_unknown_setting_is_refused_with_the_nearest_known_one(run):
    for command in ('check', 'serve'):
        done = run(command, LAKEPROXY_S3_ENDPIONT='http://127.0.0.1:9000')
        assert done.returncode != 0
        assert 'LAKEPROXY_S3_ENDPIONT' in done.stderr and 'LAKEPROXY_S3_ENDPOINT' in done.stderr


def test_the_file_loses_to_dotenv_and_dotenv_to_the_environment(run, tmp_path):
    def threads(**environment):
        lines = run('settings', **environment).stdout.splitlines()
        return next(line for line in lines if line.startswith('LAKEPROXY_ENGINE_THREADS='))

    (tmp_path / 'lakeproxy.toml').write_text('[engine]\nthreads = 2\n')
    assert threads().startswith('LAKEPROXY_ENGINE_THREADS=2 (lakeproxy.toml')
    (tmp_path / '.env').write_text('LAKEPROXY_ENGINE_THREADS=3\n')
    assert threads().startswith('LAKEPROXY_ENGINE_THREADS=3 (.env')
    assert threads(LAKEPROXY_ENGINE_THREADS='4').startswith('LAKEPROXY_ENGINE_THREADS=4 (env')


def test_the_document_is_that_of_the_repository(run):
    assert (ROOT / 'docs/configuration.md').read_text() == run('settings', '--markdown').stdout


def test_the_password_of_the_database_is_in_no_output(stack, run):
    for command in (['settings'], ['check']):
        done = run(*command, LAKEPROXY_PG_PASSWORD='not-the-password', LAKEPROXY_LOG_LEVEL='debug')
        assert 'not-the-password' not in done.stdout + done.stderr, command
    shown = run('settings').stdout
    assert 'LAKEPROXY_PG_PASSWORD=' in shown and stack.postgres.password not in shown
    log = (stack.folder / 'lakeproxy.log').read_text(encoding='utf-8')
    assert log and stack.postgres.password not in log


def test_help_and_version(run):
    assert 'serve' in run('--help').stdout
    assert run('--version').stdout.strip()


def test_a_word_that_is_no_command_is_refused(run):
    assert run('explode').returncode != 0
