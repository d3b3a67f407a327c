"""MCP's own conformance suite against the service, with the suite's fixtures as tools of it. docs/tools/mcp.md, "Conformance"."""
import json
import re

import pytest
from bearer_proxy import BearerProxy
from mcp_programs import NODE, SUITE, expected_failures, run, scenarios

SCORED = {'2026-07-28': 37, '2025-11-25': 30}
# The suite gives some answers less than a second, which a busy machine may not have; what is wrong fails each time.
ATTEMPTS = 3


@pytest.fixture(scope='module')
def endpoint(fixture_service):
    proxy = BearerProxy(fixture_service.port, fixture_service.secret('api_key'))
    yield f'http://127.0.0.1:{proxy.port}/mcp'
    proxy.stop()


def results_in(folder):
    """By scenario: the checks that failed. A scenario without a check is one that did not run."""
    found = {}
    for file in folder.glob('*/checks.json'):
        name = re.fullmatch(r'server-(.+)-\d{4}-\d\d-\d\dT.*', file.parent.name).group(1)
        checks = json.loads(file.read_text())
        found[name] = [f'{check["id"]}: {check.get("errorMessage")}' for check in checks if check['status'] == 'FAILURE'] if checks else ['no checks']
    return found


@pytest.fixture(scope='module', params=SCORED)
def outcome(request, endpoint, tmp_path_factory):
    """Revision, names that are scored, names that are not, and what failed of each."""
    revision, folder = request.param, tmp_path_factory.mktemp('suite')
    scored, reported = scenarios(revision, 'server')
    options = ['server', '--url', endpoint, '--timeout', '120000']
    run([NODE, SUITE, *options, '--requirements', revision, '-o', folder / '0'], check=False, timeout=900)
    results = {name: ['did not run'] for name in scored + reported}
    results.update(results_in(folder / '0'))
    for attempt in range(1, ATTEMPTS):
        for name in [name for name, failed in results.items() if failed and name not in expected_failures('server')]:
            out = folder / f'{attempt}-{name}'
            run([NODE, SUITE, *options, '--scenario', name, '--spec-version', revision, '--force', '-o', out], check=False, timeout=300)
            results.update(results_in(out))
    return revision, scored, reported, results


def test_every_scored_scenario_passes(outcome):
    revision, scored, _, results = outcome
    assert len(scored) == SCORED[revision] and not set(scored) & expected_failures('server')
    assert {name: results[name] for name in scored if results[name]} == {}


def test_the_others_fail_where_it_is_expected_and_nowhere_else(outcome):
    _, _, reported, results = outcome
    failing = {name: results[name] for name in reported if results[name]}
    assert set(failing) == set(reported) & expected_failures('server'), failing
