"""Secrets that a guesser would try first are refused before they are used. docs/tools/modes.md, "Secrets"."""

import math

from .known_secrets import known_rule

SHORTEST = {'secret_key': 32, 'secret_key_previous': 32, 'kdf_salt': 16, 'api_key': 24}
BITS_PER_CHARACTER = 1.5


def check_secrets(**secrets):
    """Errors: ValueError that names the first weak one and the rule, never the value. An empty one is left out."""
    for name, value in secrets.items():
        if rule := _broken_rule(value, SHORTEST[name]) if value else None:
            raise ValueError(f'{name}: {rule}')
    given = [(name, value) for name, value in secrets.items() if value]
    for index, (name, value) in enumerate(given):
        for other, earlier in given[:index]:
            if value in earlier or earlier in value:
                raise ValueError(f'{name}: must have nothing in common with {other}')


def _broken_rule(value, shortest):
    if known := known_rule(value):
        return known
    if len(value) < shortest:
        return f'must have at least {shortest} characters'
    if _estimated_bits(value) < len(value) * BITS_PER_CHARACTER:
        return 'must be random: it repeats itself or runs in sequence'
    return None


def _estimated_bits(value):
    """The entropy of the characters, where one that follows from those before it counts one bit."""
    counts = [value.count(one) for one in set(value)]
    each = -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
    bits, steps = each, [ord(b) - ord(a) for a, b in zip(value, value[1:])]
    for index, step in enumerate(steps, 1):
        bits += min(each, 1) if abs(step) <= 1 or value[index - 3:index + 1] in value[:index] and index >= 3 else each
    return bits
