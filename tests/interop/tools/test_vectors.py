"""The vectors under tests/golden/wire are what the Python client makes now; the
C++ side reads the same files in its own tests."""
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / 'tests/golden/wire'


def test_the_client_makes_the_vectors(tmp_path):
    shutil.copy(GOLDEN / 'token_key.pem', tmp_path)
    subprocess.run([sys.executable, ROOT / 'clients/python/vectors.py', tmp_path], check=True)
    for file in sorted(GOLDEN.iterdir()):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_the_vectors_of_forwarding_are_what_is_made_now(tmp_path):
    subprocess.run([sys.executable, ROOT / 'clients/python/forward_vectors.py', tmp_path], check=True)
    name = 'forward_proofs.json'
    assert (tmp_path / name).read_bytes() == (ROOT / 'tests/golden/federation' / name).read_bytes()


def test_there_are_enough_vectors():
    assert sum(len(json.loads(file.read_text())['cases']) for file in GOLDEN.glob('*.json')) >= 150
