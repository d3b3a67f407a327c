"""What a run did. An operation that never happened proves nothing, so it is counted too."""
import collections
import time

from oracle import offered
from oracle.steps import MIGRATE, OPERATIONS


class Tally:
    def __init__(self):
        self.began = time.monotonic()
        self.histories = self.steps = self.compared = self.reads = self.filters = self.lineages = self.spark = 0
        self.done = collections.Counter()
        self.skipped = collections.Counter()
        self.refused = collections.Counter()
        self.reasons = collections.Counter()

    def refused_load(self, reason):
        self.reasons[f'not shown: {reason}'] += 1

    def summary(self):
        seconds = max(time.monotonic() - self.began, 0.001)
        lines = ['operations (done, without occasion, refused):']
        lines += [f'  {name:<32} {self.done[name]:>6} {self.skipped[name]:>6} {self.refused[name]:>6}' for name in sorted(OPERATIONS)]
        lines += [f'  {count:>5} x {reason}' for reason, count in sorted(self.reasons.items())]
        lines.append(f'oracle: {self.histories} histories ({self.done[MIGRATE]} with a migration to 1.1), {self.steps} steps, {self.compared} snapshots compared, '
                     f'{self.reads} reads ({self.filters} with filters), {self.lineages} with row ids, {self.spark} by Spark, in {seconds:.0f} s: '
                     f'{self.steps / seconds:.1f} steps/s, {self.compared / seconds:.1f} snapshots/s')
        return '\n'.join(lines)

    def never_done(self):
        return [name for name in self.asked_for() if not self.done[name] and name not in offered.REFUSED]

    def asked_for(self):
        """Those of no weight are not dealt."""
        return [name for name in sorted(OPERATIONS) if OPERATIONS[name].weight]

    def faults(self):
        """What makes a long run fail although no two readers disagreed."""
        stale = [f'{name} stands among the refused operations and is never refused' for name in sorted(offered.REFUSED)
                 if self.done[name] > 3 and not self.refused[name]]
        return [f'{name} is offered and was never done' for name in self.never_done()] + stale
