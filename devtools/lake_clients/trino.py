"""Trino's client. A server takes some ten seconds to start: share one."""
from trino.dbapi import connect as connect_server


def connect(server):
    """A connection to a running stack.trino.Trino, with the lake as its catalog."""
    return connect_server(host='127.0.0.1', port=server.port, user='test', catalog='lake')
