"""Tools whose schemas have a word of every kind, that answer what they were called with: numbers as JSON compares them, so that 5.0 and 5 are one."""
import json
import pathlib
import sys

import plain


def flat(value):
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [flat(one) for one in value]
    if isinstance(value, dict):
        return {name: flat(one) for name, one in value.items()}
    return value


TOOLS = json.loads(pathlib.Path(sys.argv[1]).read_text())
plain.serve(lambda params: {'tools': TOOLS}, lambda id, name, arguments, ask: plain.text_result(f'{name} {json.dumps(flat(arguments), sort_keys=True)}'))
