"""Spin searches every run of the model. Taking one rule away must be found out."""
import pathlib
import re
import subprocess

import pytest

MODEL = pathlib.Path(__file__).with_name('session.pml')
MUTANTS = ['NO_TRANSCRIPT', 'NO_PROOF', 'NO_CONFIRM', 'NO_REPLAY_CACHE', 'SESSIONS_SURVIVE']


def search(folder, *defines):
    """(errors, states) of a whole search."""
    subprocess.run(['spin', *[f'-D{name}' for name in defines], '-a', MODEL], cwd=folder, check=True, capture_output=True)
    subprocess.run(['cc', '-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c'], cwd=folder, check=True)
    out = subprocess.run(['./pan', '-m100000', '-w22'], cwd=folder, check=True, capture_output=True, text=True, timeout=300).stdout
    assert 'max search depth too small' not in out
    return int(re.search(r'errors: (\d+)', out)[1]), float(re.search(r'([\d.e+]+) states, stored', out)[1])


def test_no_run_breaks_a_property(tmp_path):
    errors, states = search(tmp_path)
    assert errors == 0
    assert states > 10_000, 'the model does nearly nothing'


@pytest.mark.parametrize('rule', MUTANTS)
def test_a_missing_rule_is_found(tmp_path, rule):
    errors, _ = search(tmp_path, rule)
    assert errors == 1
