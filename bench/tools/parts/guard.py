"""The rules over a text, and a decision from memory, in a process of their own: no service runs."""
import micro
from rounds import Target, alternate, median, medians


def measure(bench):
    found = alternate({'guard': lambda: micro.run('toolserver_guard')}, bench.rounds)
    return {'figures': medians(found), 'rules_500_mb': median(found, 'guard', 'scan_1_mib_500_rules_bytes_per_second') / 1e6,
            'decision_us': median(found, 'guard', 'decision_from_memory_cpu_us')}


def show(found):
    print()
    row = {key: value['median'] for key, value in found['figures']['guard'].items()}
    for name in (key.removesuffix('_cpu_us') for key in row if key.endswith('_cpu_us')):
        rate = f', {row[f"{name}_bytes_per_second"] / 1e6:.0f} MB/s' if f'{name}_bytes_per_second' in row else ''
        print(f'guard, {name.replace("_", " ")}: {row[f"{name}_cpu_us"]:,.1f} us of CPU{rate}')


def targets(found):
    return [Target('guard: 1 MiB of prose, 500 rules', found['rules_500_mb'], 200, 'MB/s', least=True),
            Target('guard: a policy decision from memory', found['decision_us'], 5, 'us')]
