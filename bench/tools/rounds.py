"""Variants side by side: short rounds in turn, so that what else the machine does hits all of them, and targets held against what was found.

A figure is compared within its round and the median of the comparisons counts: two runs one after the other would measure the hour of the day.
"""
import dataclasses
import statistics


def alternate(variants, rounds):
    """`variants`: what measures each, by name; gives a dict of figures. Each round begins with another one."""
    names = list(variants)
    found = {name: [] for name in names}
    for at in range(rounds):
        begin = at % len(names)
        for name in names[begin:] + names[:begin]:
            found[name].append(variants[name]())
    return found


def medians(found):
    """Of each figure of each variant, and the lowest and highest."""
    def spread(values):
        return {'median': statistics.median(values), 'lowest': min(values), 'highest': max(values)}

    return {name: {key: spread([one[key] for one in rounds]) for key in rounds[0]} for name, rounds in found.items()}


def median(found, name, key):
    return statistics.median(one[key] for one in found[name])


def more(found, name, than, key):
    """By how much `name` is over `than`: the median of the rounds' differences."""
    return statistics.median(one[key] - other[key] for one, other in zip(found[name], found[than]))


def times(found, name, than, key):
    """The median of the rounds' ratios."""
    return statistics.median(one[key] / other[key] for one, other in zip(found[name], found[than]))


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound and what was found. `least`: the bound is a floor."""
    what: str
    found: float
    bound: float
    unit: str
    least: bool = False

    @property
    def met(self):
        return self.found >= self.bound if self.least else self.found <= self.bound

    def line(self):
        bound = f'{"at least" if self.least else "at most"} {self.bound:,.6g} {self.unit}'
        return f'{self.what:76}{self.found:>12,.5g} {self.unit:8}{bound:26}{"met" if self.met else "NOT MET"}'

    def record(self):
        return {**dataclasses.asdict(self), 'met': self.met}
