"""Several measurements in turn, in short rounds of one run: what else the machine does hits all of them alike.

A figure by itself means little on a machine with other work. What is compared is compared within each round, and the
median of those ratios is told with the lowest and the highest.
"""
import statistics


def in_turn(measurements, rounds):
    """The figures of each measurement by its name, one for each round. Every other round goes backwards."""
    found = {name: [] for name in measurements}
    for n in range(rounds):
        order = list(measurements.items())
        for name, measure in order if n % 2 == 0 else reversed(order):
            found[name].append(measure())
    return found


def ratio(of, to):
    """Of two lists of figures with the same rounds."""
    each = sorted(one / other for one, other in zip(of, to, strict=True))
    return {'median': statistics.median(each), 'low': each[0], 'high': each[-1], 'rounds': len(each)}


def told(found):
    return f'{found["median"]:.2f} ({found["low"]:.2f} to {found["high"]:.2f})'


def slices(seconds, rounds, slice_s=2):
    """How many short rounds take as long as `rounds` of `seconds` each, and how long one is."""
    if seconds <= slice_s:
        return rounds, seconds
    return rounds * seconds // slice_s, slice_s
