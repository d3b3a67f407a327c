"""Ports on loopback: the wanted one, or a free one when nobody insisted."""
import socket

from stack.process import StackError


def choose(wanted, default, what):
    """`wanted` is the user's word and is never replaced; `default` is only a wish."""
    if wanted:
        if not free(wanted):
            raise StackError(f'port {wanted} for {what} is in use')
        return wanted
    return default if free(default) else any_free()


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
        return True


def any_free():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
