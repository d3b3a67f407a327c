"""A Python sandbox that looks for forbidden words in a text, and hands out getattr."""
import os

from common import serve

assert os


def execute_code(code: str):
    """Evaluates an expression."""
    if '__' in code or 'import' in code:
        raise PermissionError('a forbidden word')
    return eval(code, {'__builtins__': {'getattr': getattr, 'len': len}})


serve(execute_code)
