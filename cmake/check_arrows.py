"""Checks that every include between folders is an arrow of cmake/layers.cmake.

usage: check_arrows.py SOURCE_DIR ARROWS_FILE
Each line of ARROWS_FILE is "folder: used folders | folders its tests may use too".
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)/[^/"]+"', re.M)


def read_arrows(path):
    arrows = {}
    for line in path.read_text().splitlines():
        folder, _, rest = line.partition(':')
        uses, _, test_uses = rest.partition('|')
        arrows[folder] = (set(uses.replace(';', ' ').split()), set(test_uses.replace(';', ' ').split()))
    return arrows


def reachable(folder, arrows):
    seen, todo = set(), [folder]
    while todo:
        for used in arrows[todo.pop()][0]:
            if used in arrows and used not in seen:
                seen.add(used)
                todo.append(used)
    return seen


def faults(source, arrows):
    for folder, (uses, test_uses) in arrows.items():
        for cycle in [f for f in [folder] if f in reachable(folder, arrows)]:
            yield f'{cycle} uses itself in a circle'
        for file in sorted((source / folder).glob('*.*')):
            if file.suffix not in ('.h', '.cc'):
                continue
            allowed = uses | {folder} | (test_uses if file.stem.endswith(('_test', '_bench')) else set())
            for target in INCLUDE.findall(file.read_text()):
                if target not in allowed:
                    yield f'{file.relative_to(source)} includes {target}/, which {folder} does not use'


def main():
    source, arrows = pathlib.Path(sys.argv[1]), read_arrows(pathlib.Path(sys.argv[2]))
    found = list(faults(source, arrows))
    for fault in found:
        print('arrow:', fault, file=sys.stderr)
    sys.exit(1 if found else 0)


main()
