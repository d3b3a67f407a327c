"""Claims of forged tokens, whose times count from when the token is made: a whole run takes longer than they last."""


def from_now(seconds):
    return lambda now: now + seconds


def resolved(claims, now):
    """Without the claims that are None, and with the times that from_now() put off."""
    values = {name: value(now) if callable(value) else value for name, value in claims.items()}
    return {name: value for name, value in values.items() if value is not None}
