"""Starts and stops stacks. Called by ./dev up and ./dev down; see ./dev help."""
import argparse
import sys
import time

from stack import paths
from stack.process import StackError
from stack.stack import DEFAULT_BINARY, Stack


def up(options):
    stack = Stack.make(options.name, options.pg_port, options.s3_port, options.port, options.kind,
                       options.binary, options.format)
    if options.administrator and not options.open and options.kind == 'lakeproxy':
        stack.make_administrator()
    for part in stack.parts():
        began = time.monotonic()
        known = stack.running(part)
        stack.start(part)
        state = 'was up' if known else f'up in {time.monotonic() - began:.1f} s'
        print(f'   {part.name:<18} 127.0.0.1:{part.port:<6} {state}')
    print(f'   variables          {stack.write_env().relative_to(paths.ROOT)}')


def down(options):
    if not Stack.exists(options.name):
        print(f'   stack {options.name} is not there: nothing to stop')
        return
    stack = Stack.load(options.name)
    for part in reversed(stack.parts()):
        if stack.running(part):
            stack.stop(part)
            print(f'   {part.name} stopped')
    paths.env_file(options.name).unlink(missing_ok=True)
    if options.wipe:
        stack.wipe()
        print(f'   data of stack {options.name} removed')


def parse(arguments):
    parser = argparse.ArgumentParser(prog='./dev')
    commands = parser.add_subparsers(dest='command', required=True)
    start = commands.add_parser('up', help='start the servers and write the env file')
    start.set_defaults(run=up)
    for port, what in (('pg-port', 'PostgreSQL'), ('s3-port', 'the S3 store'), ('port', 'the catalog')):
        start.add_argument(f'--{port}', type=int, default=0, help=f'port of {what}')
    start.add_argument('--kind', choices=('lakeproxy', 'reference'), default='lakeproxy',
                       help='the catalog: ours, or the Java reference')
    start.add_argument('--administrator', action='store_true',
                       help='with an administrator as its one client, as ./dev up has it')
    start.add_argument('--open', action='store_true', help='without clients: everybody may do everything')
    start.add_argument('--binary', default=str(DEFAULT_BINARY), help='the lakeproxy to run')
    start.add_argument('--format', choices=('1.0', '1.1'), help='of a lake that is not there yet')
    stop = commands.add_parser('down', help='stop the servers')
    stop.set_defaults(run=down)
    stop.add_argument('--wipe', action='store_true', help='remove the data too')
    for command in (start, stop):
        command.add_argument('--name', default=paths.DEFAULT_STACK, help='several stacks, several names')
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    try:
        options.run(options)
    except StackError as fault:
        sys.exit(f'dev: {fault}')


main()
