"""The tour of `./dev demo tools`, from its first line to its last, and the page that shows a part of what it prints."""
import os
import subprocess
import sys

from test_pages import blocks
from tool_clients import BINARY, ROOT


def test_the_tour_runs_and_prints_what_the_page_shows(tmp_path):
    done = subprocess.run([sys.executable, '-m', 'tool_tour', tmp_path / 'tour'], cwd=ROOT, capture_output=True, text=True, timeout=400,
                          env={**os.environ, 'TOOLS_BINARY': str(BINARY), 'PYTHONPATH': str(ROOT / 'devtools')})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    printed = done.stdout.splitlines()
    # From top to bottom, with lines in between; a line that ends with ... tells the beginning of one.
    for line in blocks('start.md', 'text')[0].splitlines():
        begins = line.removesuffix('...')
        while printed and not (printed[0].startswith(begins) if begins != line else printed[0] == line):
            printed.pop(0)
        assert printed, f'not printed, or not in this order: {line}'
