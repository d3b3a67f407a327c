"""What is installed runs without the checkout's libraries on a path, and where it is moved to."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('TOOLS_BINARY', ROOT / 'build/dev/securetool')).parent


@pytest.mark.parametrize('program', ['lakeproxy', 'securetool'])
def test_an_installed_program_runs_where_it_is_moved_to(program, tmp_path):
    subprocess.run(['cmake', '--install', BUILD, '--prefix', tmp_path / 'first', '--component', program], check=True, capture_output=True)
    (tmp_path / 'first').rename(tmp_path / 'second')
    done = subprocess.run([tmp_path / 'second/bin' / program, '--version'], env={}, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, program), done.stderr
    assert str(ROOT) not in subprocess.run(['readelf', '-d', tmp_path / 'second/bin' / program], check=True, capture_output=True, text=True).stdout
