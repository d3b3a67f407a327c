"""Spin searches every run of each model. Taking one rule away must be found out."""
import pathlib
import re
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).parent
MUTANTS = {
    'session': ['NO_TRANSCRIPT', 'NO_PROOF', 'NO_CONFIRM', 'NO_REPLAY_CACHE', 'SESSIONS_SURVIVE'],
    'node_key': ['SECRET_IS_ENOUGH', 'FALLS_BACK', 'ANY_KEY', 'NO_SHARE_IN_NONE', 'SHARES_ARE_KEPT', 'REKEY_WITHOUT_SHARES', 'SHARES_NOT_SIGNED',
                 'CREDENTIAL_NOT_BOUND'],
}


def search(folder, model, *defines):
    """(errors, states) of a whole search."""
    subprocess.run(['spin', *[f'-D{name}' for name in defines], '-a', FOLDER / f'{model}.pml'], cwd=folder, check=True, capture_output=True)
    subprocess.run(['cc', '-O0' if defines else '-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c'], cwd=folder, check=True)
    out = subprocess.run(['./pan', '-m100000', '-w22'], cwd=folder, check=True, capture_output=True, text=True, timeout=300).stdout
    assert 'max search depth too small' not in out
    return int(re.search(r'errors: (\d+)', out)[1]), float(re.search(r'([\d.e+]+) states, stored', out)[1])


@pytest.mark.parametrize('model', MUTANTS)
def test_no_run_breaks_a_property(tmp_path, model):
    errors, states = search(tmp_path, model)
    assert errors == 0
    assert states > 10_000, 'the model does nearly nothing'


@pytest.mark.parametrize('model, rule', [(model, rule) for model, rules in MUTANTS.items() for rule in rules])
def test_a_missing_rule_is_found(tmp_path, model, rule):
    errors, _ = search(tmp_path, model, rule)
    assert errors == 1
