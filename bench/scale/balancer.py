"""HAProxy before several proxies, as an installation would have it: a group of them for each PostgreSQL server."""
import time

import requests

from stack import ports, process

CONFIGURATION = '''
global
  maxconn 1000
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  retries 3
  option redispatch
  # A request that never reached a server may go to another; one that was begun may not.
  retry-on conn-failure
  option httpchk GET /readyz
frontend catalog
  bind 127.0.0.1:{port}
{choices}
  default_backend {first}
'''
# The catalog's prefix is the second segment of a path; its configuration is asked for by name.
CHOICE = '''
  use_backend {prefix} if {{ path_beg /v1/{prefix}/ }}
  use_backend {prefix} if {{ path /v1/config }} {{ urlp(warehouse) -m str {prefix} }}'''
GROUP = '''
backend {prefix}
  balance roundrobin
{servers}
'''


class Balancer:
    def __init__(self, folder, groups):
        """`groups`: for each catalog's prefix the proxies that serve it; the first group takes all other paths."""
        self.port = ports.any_free()
        self.log = folder / 'haproxy.log'
        self.file = folder / 'haproxy.cfg'
        choices = ''.join(CHOICE.format(prefix=prefix) for prefix in groups)
        self.file.write_text(CONFIGURATION.format(port=self.port, choices=choices, first=next(iter(groups)))
                             + ''.join(GROUP.format(prefix=prefix, servers=server_lines(prefix, proxies))
                                       for prefix, proxies in groups.items()))

    def __enter__(self):
        self.process = process.start(['haproxy', '-db', '-f', self.file], self.log)
        process.wait_ready('haproxy', self.process, self.log, self.ready, 20)
        return self

    def __exit__(self, *fault):
        self.process.stop()

    def uri(self):
        return f'http://127.0.0.1:{self.port}'

    def ready(self):
        try:
            return requests.get(f'{self.uri()}/readyz', timeout=5).status_code == 200
        except requests.ConnectionError:
            time.sleep(0.05)
            return False


def server_lines(prefix, proxies):
    return '\n'.join(f'  server {prefix}{number} 127.0.0.1:{proxy.port} check inter 200ms fall 1 rise 1'
                     for number, proxy in enumerate(proxies))
