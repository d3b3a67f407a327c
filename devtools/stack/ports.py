"""Ports on loopback: the wanted one, or a free one when nobody insisted.

Between the choice of a port and the server that listens on it lies a moment in
which somebody else may take it. So a chosen port is held: nobody who asks here
gets it again while the program that chose it runs. And a port that was not
asked for lies below those that the kernel gives to outgoing connections.
"""
import random
import socket

from stack.process import StackError

# Linux gives 32768 and above to outgoing connections.
FREE_RANGE = range(20000, 32768)

# Port to the socket that marks it as chosen by this program.
_held = {}


def choose(wanted, default, what):
    """`wanted` is the user's word and is never replaced; `default` is only a wish, and may be None."""
    if wanted:
        if not take(wanted):
            raise StackError(f'port {wanted} for {what} is in use')
        return wanted
    return default if default and take(default) else any_free()


def any_free():
    for port in random.sample(FREE_RANGE, len(FREE_RANGE)):
        if take(port):
            return port
    raise StackError(f'no port from {FREE_RANGE.start} to {FREE_RANGE.stop - 1} is free')


def take(port):
    """Whether `port` is ours from now on: no running program has chosen it, and nobody uses it."""
    if not hold(port):
        return False
    if free(port):
        return True
    _held.pop(port).close()
    return False


def hold(port):
    """A socket's name without a file marks the port; it goes when this program ends, however it ends."""
    if port in _held:
        return False
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f'\0lake-port-{port}')
    except OSError:
        mark.close()
        return False
    _held[port] = mark
    return True


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
        return True
