"""What a run did. A check that never happened proves nothing, so it is counted too."""
import collections
import time

from policy_oracle.steps import OPERATIONS

KINDS = ('raw', 'cooperative', 'file_mask', 'refused')
LINE_SECONDS = 60


class Tally:
    def __init__(self):
        self.began = self.told = time.monotonic()
        self.histories = self.steps = self.effective = self.views = self.probes = self.other_ways = self.stale = self.waits = 0
        self.loads = collections.Counter()
        self.done = collections.Counter()
        self.skipped = collections.Counter()

    def line(self):
        seconds = max(time.monotonic() - self.began, 0.001)
        loads = ', '.join(f'{self.loads[kind]} {kind}' for kind in KINDS)
        return (f'governance: {self.histories} histories, {self.steps} steps, {self.effective} effective-policies, loads: {loads}; '
                f'{self.views} views run, {self.probes} raw objects tried, {self.other_ways} other ways, {self.stale} older states and {self.waits} times 503 on the way; '
                f'{seconds:.0f} s, {self.steps / seconds:.1f} steps/s')

    def tell(self):
        """Each minute."""
        if time.monotonic() - self.told > LINE_SECONDS:
            self.told = time.monotonic()
            print(self.line(), flush=True)

    def summary(self):
        lines = ['operations (done, without occasion):']
        return '\n'.join([*lines, *(f'  {name:<20} {self.done[name]:>6} {self.skipped[name]:>6}' for name in sorted(OPERATIONS)), self.line()])

    def faults(self):
        """What makes a run fail although nothing differed."""
        return [f'{name} was never done' for name in sorted(OPERATIONS) if not self.done[name]] + \
            [f'nobody saw a table as {kind}' for kind in KINDS if not self.loads[kind]]
