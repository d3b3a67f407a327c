"""Small arithmetic on samples."""


def percentile(samples, percent):
    """The smallest sample that `percent` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
