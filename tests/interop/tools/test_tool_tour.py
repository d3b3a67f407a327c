"""The tours of `./dev demo tools` and `./dev demo federation`, from first line to last, and the pages that show a part of what they print."""
import os
import subprocess
import sys

import pytest
from test_pages import blocks
from tool_clients import BINARY, ROOT


@pytest.mark.parametrize('tour, page', [('tool_tour', 'start.md'), ('federation_tour', 'discovery.md')])
def test_the_tour_runs_and_prints_what_the_page_shows(tmp_path, tour, page):
    done = subprocess.run([sys.executable, '-m', tour, tmp_path / 'tour'], cwd=ROOT, capture_output=True, text=True, timeout=400,
                          env={**os.environ, 'TOOLS_BINARY': str(BINARY), 'PYTHONPATH': str(ROOT / 'devtools')})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    printed = done.stdout.splitlines()
    # From top to bottom, with lines in between; a line that ends with ... tells the beginning of one.
    for line in blocks(page, 'text')[0].splitlines():
        begins = line.removesuffix('...')
        while printed and not (printed[0].startswith(begins) if begins != line else printed[0] == line):
            printed.pop(0)
        assert printed, f'not printed, or not in this order: {line}'
