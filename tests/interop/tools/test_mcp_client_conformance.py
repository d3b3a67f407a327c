"""MCP's own conformance suite against what bridges are made of. docs/tools/bridge.md, "Conformance"."""
import re

import pytest
from mcp_programs import CONFORMANCE_CLIENT, NODE, SUITE, expected_failures, run, scenarios

SCORED = {'2026-07-28': 32, '2025-11-25': 18}
# A scenario that measures the time until a client is back may fail on a busy machine; what is wrong fails each time.
ATTEMPTS = 3
OPTIONS = ['client', '--command', CONFORMANCE_CLIENT, '--timeout', '60000']


def results_of(output):
    """By scenario, whether it passed, as the suite sums it up; a client that ends with an error has not."""
    return {name: mark == '✓' for mark, name in re.findall(r'^([✓✗]) (\S+): \d+ passed, \d+ failed', output, re.M)}


@pytest.fixture(scope='module', params=SCORED)
def outcome(request, tmp_path_factory):
    """Revision, names that are scored, names that are not, and which of them passed."""
    revision, folder = request.param, tmp_path_factory.mktemp('suite')
    scored, reported = scenarios(revision, 'client')
    done = run([NODE, SUITE, *OPTIONS, '--requirements', revision, '-o', folder], check=False, timeout=900)
    results = {name: False for name in scored + reported}
    results.update(results_of(done.stdout))
    for _ in range(1, ATTEMPTS):
        for name in [name for name, passed in results.items() if not passed and name not in expected_failures('client')]:
            again = run([NODE, SUITE, *OPTIONS, '--scenario', name, '--spec-version', revision, '--force'], check=False, timeout=300)
            results[name] = again.returncode == 0
    return revision, scored, reported, results


def test_every_scored_scenario_passes(outcome):
    revision, scored, _, results = outcome
    assert len(scored) == SCORED[revision] and not set(scored) & expected_failures('client')
    assert [name for name in scored if not results[name]] == []


def test_the_others_fail_where_it_is_expected_and_nowhere_else(outcome):
    _, _, reported, results = outcome
    assert {name for name in reported if not results[name]} == set(reported) & expected_failures('client')
