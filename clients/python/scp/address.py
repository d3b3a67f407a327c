"""The address of a service: over TLS, or in plaintext to this machine alone. docs/wire-3.0.md, section 1."""

import ipaddress
import urllib.parse

import websockets

PATH = '/scp/v3'  # of a URL without one
LOOPBACK_4, LOOPBACK_6 = ipaddress.ip_network('127.0.0.0/8'), ipaddress.ip_address('::1')


def checked(url):
    """`url` as it is dialled. Errors: ValueError for one that is not safe to dial; it does not repeat what stands in it."""
    try:
        parsed = urllib.parse.urlsplit(url)
        host, _ = parsed.hostname, parsed.port
    except ValueError:
        host = None
    if not host or parsed.scheme not in ('ws', 'wss'):
        raise ValueError('url: must be a ws:// or wss:// URL')
    if '@' in parsed.netloc or parsed.query or parsed.fragment:
        raise ValueError('url: must have no user, password, query or fragment')
    if parsed.scheme == 'ws' and not _is_loopback(host):
        raise ValueError('url: ws:// is for this machine alone; use wss://')
    return parsed._replace(path=parsed.path or PATH).geturl()


def _is_loopback(host):
    if host == 'localhost':
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address in LOOPBACK_4 or address == LOOPBACK_6


class Dial(websockets.connect):
    """The WebSocket of a checked URL. It follows no redirect, which would lead to an address that nobody has checked."""

    def process_redirect(self, exc):
        return exc
