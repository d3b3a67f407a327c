"""HAProxy before several catalogs, as an installation would have it."""
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
  default_backend proxies
backend proxies
  balance roundrobin
{servers}
'''


class Balancer:
    def __init__(self, folder, catalogs):
        self.port = ports.any_free()
        self.log = folder / 'haproxy.log'
        self.file = folder / 'haproxy.cfg'
        servers = [f'  server proxy{number} 127.0.0.1:{catalog.port} check inter 200ms fall 1 rise 1'
                   for number, catalog in enumerate(catalogs)]
        self.file.write_text(CONFIGURATION.format(port=self.port, servers='\n'.join(servers)))

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
