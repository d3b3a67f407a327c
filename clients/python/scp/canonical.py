"""I-JSON in, canonical JSON out. docs/wire-3.0.md, section 2; RFC 8785."""

import json
import math

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 64


def parse(text):
    """Errors: ValueError when a rule of section 2.1 is broken."""
    if isinstance(text, bytes):
        text = text.decode('utf-8')
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    _check(value, 1)
    return value


def _unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError('a member name stands twice')
    return members


def _no_constant(name):
    raise ValueError(f'{name} is not JSON')


def _check(value, depth):
    if depth > MAX_DEPTH:
        raise ValueError('too deep')
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        raise ValueError('an integer beyond 2^53-1')
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError('a number out of range')
    if isinstance(value, str):
        value.encode('utf-8')  # a lone surrogate fails here
    if isinstance(value, dict):
        for name, member in value.items():
            name.encode('utf-8')
            _check(member, depth + 1)
    if isinstance(value, list):
        for member in value:
            _check(member, depth + 1)


def canonical(value):
    """The canonical form as bytes."""
    return _text(value).encode('utf-8')


def _text(value):
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return '[' + ','.join(map(_text, value)) + ']'
    names = sorted(value, key=lambda name: name.encode('utf-16-be'))
    return '{' + ','.join(f'{_text(name)}:{_text(value[name])}' for name in names) + '}'


def to_wire(value):
    """The form a message is sent in: a double keeps its point or exponent. Section 2.2."""
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'), allow_nan=False).encode('utf-8')


def number(value):
    """A double as ECMAScript's Number::toString prints it."""
    if value == 0:
        return '0'
    sign, value = ('-', -value) if value < 0 else ('', value)
    mantissa, _, exponent = f'{value!r}'.partition('e')
    whole, _, fraction = mantissa.partition('.')
    fraction = '' if fraction == '0' else fraction
    digits = (whole + fraction).lstrip('0')
    point = int(exponent or 0) + len(whole) - (len(whole + fraction) - len((whole + fraction).lstrip('0')))
    digits = digits.rstrip('0')
    if len(digits) <= point <= 21:
        text = digits + '0' * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + '.' + digits[point:]
    elif -6 < point <= 0:
        text = '0.' + '0' * -point + digits
    else:
        shift = point - 1
        text = digits[0] + ('.' + digits[1:] if len(digits) > 1 else '') + f'e{"+" if shift > 0 else "-"}{abs(shift)}'
    return sign + text
