"""Offers the tools that stand in a file, and says so when the file changes."""
import json
import pathlib
import sys

import plain

FILE = pathlib.Path(sys.argv[1])


plain.tell_changes(FILE, 'tools')
plain.serve(lambda params: {'tools': json.loads(FILE.read_text())}, lambda id, name, arguments, ask: plain.text_result(name, structuredContent={'n': 1}))
