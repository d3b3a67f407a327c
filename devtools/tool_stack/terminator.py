"""nginx as what ends TLS before a service: a client speaks wss to it, and it speaks ws to a node on loopback."""
import pathlib

from stack import ports, process

CONFIG = '''
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location /scp/v3 {{
      proxy_pass http://127.0.0.1:{target};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_read_timeout 120s;
    }}
  }}
}}
'''


class Terminator:
    """Use as a context. `target` is the port that it forwards to."""

    def __init__(self, folder, authority, target):
        self.folder = pathlib.Path(folder)
        self.port = ports.any_free()
        certificate, key = authority.server(f'terminator-{self.port}')
        self.config = self.folder / 'nginx.conf'
        self.config.write_text(CONFIG.format(folder=self.folder, port=self.port, target=target, certificate=certificate, key=key))

    @property
    def url(self):
        return f'wss://127.0.0.1:{self.port}/scp/v3'

    def __enter__(self):
        log = self.folder / 'out'
        self.process = process.start(['/usr/sbin/nginx', '-c', self.config, '-p', self.folder, '-e', self.folder / 'nginx.log'], log)
        process.wait_ready('nginx', self.process, log, lambda: not ports.free(self.port), 20)
        return self

    def __exit__(self, *_):
        self.process.stop()
