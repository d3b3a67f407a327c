"""Whether one link between two nodes is enough: forwarded calls beside the same tool called at its own node, and what a large answer
on a link costs the small ones that travel with it."""
import contextlib
import json
import time

from parts import ECHO, TEXT
from parts.federation import Pair
from rounds import Target, alternate, median, medians, more, times

IN_FLIGHT = (1, 8, 64)
LARGE = 16 << 20
# An answer over the size of a message: it is streamed to its caller.
TOOL = {
    'limits.output_bytes': '32MiB', 'tools.large.kind': 'command', 'tools.large.description': 'Prints.', 'tools.large.program': '/bin/sh',
    'tools.large.arguments': ['-c', 'head -c "$1" /dev/zero | tr "\\0" x', 'sh', '{bytes}'], 'tools.large.read_only': True,
    'tools.large.answer_max': '32MiB', 'tools.large.parameters.bytes.type': 'integer',
}
QUIET, ON_THE_LINK, BESIDE_IT = 'nothing else', 'a large answer on the link', 'a large answer of the far node, not on the link'


class Links(Pair):
    """The nodes of a Pair, of which the second has something large."""

    def __init__(self, bench):
        super().__init__(bench, 'links', True, 'tool:invoke:tools.*', TOOL)

    def rates(self, node, call):
        found = {}
        for in_flight in IN_FLIGHT:
            load = node.load('calls', *call, '--count', self.count(1_000 if in_flight == 1 else 4_000), '--in-flight', in_flight)
            found |= {f'{key}_{in_flight}': load[key] for key in ('per_second', 'p50_us', 'p99_us')}
        return found

    def forwarded(self):
        return self.rates(self.nodes[0], ['--tool', f'{self.far}.echo_say', '--args', json.dumps({'text': TEXT})])

    def direct(self):
        return self.rates(self.nodes[1], ECHO)

    def small(self, beside):
        """One small forwarded call after another, while the far node gives large answers one after another."""
        with self.large(beside):
            load = self.nodes[0].load('calls', '--tool', f'{self.far}.echo_say', '--args', json.dumps({'text': TEXT}), '--count', self.count(1_000))
        return {key: load[key] for key in ('p50_us', 'p99_us')}

    @contextlib.contextmanager
    def large(self, beside):
        if beside == QUIET:
            yield
            return
        node, tool = (self.nodes[0], f'{self.far}.tools_large') if beside == ON_THE_LINK else (self.nodes[1], 'tools.large')
        before = self.large_answers()
        load = node.start_load('calls', '--tool', tool, '--args', json.dumps({'bytes': LARGE}), '--stream', '--count', 1_000_000)
        try:
            end = time.monotonic() + 60
            while self.large_answers() == before:
                if load.poll() is not None or time.monotonic() > end:
                    raise RuntimeError('no large answer')
                time.sleep(0.05)
            yield
        finally:
            load.kill()
            load.wait()
            load.stdin.close()
            load.stdout.close()

    def large_answers(self):
        """How many the far node has given, by its trail."""
        return sum(file.read_text().count('"tool":"tools.large"') for file in self.nodes[1].service.audit.glob('*.jsonl')) // 2


def measure(bench):
    with Links(bench) as pair:
        rates = alternate({'forwarded': pair.forwarded, 'direct': pair.direct}, bench.rounds)
        small = alternate({beside: lambda beside=beside: pair.small(beside) for beside in (QUIET, ON_THE_LINK, BESIDE_IT)}, bench.rounds)
    return {'rates': medians(rates), 'small': medians(small), 'large_bytes': LARGE,
            'share_of_direct': {n: times(rates, 'forwarded', 'direct', f'per_second_{n}') for n in IN_FLIGHT},
            'p99_more_us': more(small, ON_THE_LINK, BESIDE_IT, 'p99_us'), 'p50_us': {name: median(small, name, 'p50_us') for name in small}}


def show(found):
    print(f'\n{"calls over one link, calls/s":32}' + ''.join(f'{f"{n} in flight":>16}' for n in IN_FLIGHT))
    for name, row in found['rates'].items():
        print(f'{name:32}' + ''.join(f'{row[f"per_second_{n}"]["median"]:16,.0f}' for n in IN_FLIGHT))
    print(f'{"share":32}' + ''.join(f'{found["share_of_direct"][n]:16.2f}' for n in IN_FLIGHT))
    print(f'\n{"a small forwarded call, beside":52}{"p50 us":>12}{"p99 us":>12}')
    for name, row in found['small'].items():
        print(f'{name:52}{row["p50_us"]["median"]:12,.0f}{row["p99_us"]["median"]:12,.0f}')


def targets(found):
    return [Target('links: p99 that a 16 MiB answer on its link adds to a small call', found['p99_more_us'], 10_000, 'us')]
