"""A small MCP server that asks for a login, and its authorisation server, in one: each document and each answer can be made to lie."""
import http.cookiejar
import http.server
import json
import secrets
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from tool_stack.service import environment


class LoginWorld:
    """`lies` replace what is honest, by name: 'resource' and 'server' are changes to the metadata documents, 'redirect' one to the redirect's
    parameters, 'refuses' a function from a token and a tool to the scope that is missing, 'metadata' answers the request for metadata itself."""

    def __init__(self, **lies):
        self.lies = lies
        self.tokens, self.refresh_tokens, self.asked, self.presented, self.scopes = [], [], [], [], []
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                world.get(self)

            def do_POST(self):
                world.post(self, self.rfile.read(int(self.headers.get('Content-Length', 0))).decode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.origin = f'http://127.0.0.1:{self.server.server_address[1]}'
        self.url = f'{self.origin}/mcp'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def secrets(self):
        return self.tokens + self.refresh_tokens

    def get(self, request):
        path, _, query = request.path.partition('?')
        if path.startswith('/.well-known/') and 'metadata' in self.lies and self.lies['metadata'](request):
            return
        if path == '/.well-known/oauth-protected-resource/mcp':
            document = {'resource': self.url, 'authorization_servers': [self.origin], 'scopes_supported': ['read'], **self.lies.get('resource', {})}
            send(request, 200, document)
        elif path == '/.well-known/oauth-authorization-server':
            document = {'issuer': self.origin, 'authorization_endpoint': f'{self.origin}/authorize', 'token_endpoint': f'{self.origin}/token',
                        'registration_endpoint': f'{self.origin}/register', 'code_challenge_methods_supported': ['S256'],
                        'token_endpoint_auth_methods_supported': ['none'], 'authorization_response_iss_parameter_supported': True,
                        **self.lies.get('server', {})}
            send(request, 200, {name: value for name, value in document.items() if value is not None})
        elif path == '/authorize':
            asked = dict(urllib.parse.parse_qsl(query))
            self.asked.append(asked)
            back = {'code': 'c-' + secrets.token_urlsafe(8), 'state': asked['state'], 'iss': self.origin, **self.lies.get('redirect', {})}
            back = urllib.parse.urlencode({name: value for name, value in back.items() if value is not None})
            request.send_response(302)
            request.send_header('Location', f'{asked["redirect_uri"]}?{back}')
            request.send_header('Content-Length', '0')
            request.end_headers()
        else:
            send(request, 404, {})

    def post(self, request, body):
        if request.path == '/register':
            send(request, 201, {'client_id': 'registered', 'redirect_uris': json.loads(body)['redirect_uris'], 'token_endpoint_auth_method': 'none'})
        elif request.path == '/token':
            form = dict(urllib.parse.parse_qsl(body))
            self.scopes.append(form)
            if form['grant_type'] == 'refresh_token' and form['refresh_token'] not in self.refresh_tokens[-1:]:
                send(request, 400, {'error': 'invalid_grant'})
                return
            self.tokens.append('t-' + secrets.token_urlsafe(24))
            self.refresh_tokens.append('r-' + secrets.token_urlsafe(24))
            send(request, 200, {'access_token': self.tokens[-1], 'refresh_token': self.refresh_tokens[-1], 'token_type': 'Bearer', 'expires_in': 600})
        else:
            self.serve(request, json.loads(body))

    def serve(self, request, message):
        """The newest revision, with one tool."""
        given = request.headers.get('Authorization', '').removeprefix('Bearer ')
        self.presented.append(given)
        missing = self.lies.get('refuses', lambda token, name: None)(given, message['method'])
        if missing or not self.tokens or given != self.tokens[-1]:
            error = ', error="insufficient_scope"' if missing and given else ''
            metadata = f'{self.origin}/.well-known/oauth-protected-resource/mcp'
            request.send_response(403 if error else 401)
            request.send_header('WWW-Authenticate', f'Bearer scope="{missing or "read"}", resource_metadata="{metadata}"{error}')
            request.send_header('Content-Length', '0')
            request.end_headers()
            return
        results = {'server/discover': {'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}}, 'ttlMs': 0, 'cacheScope': 'private'},
                   'tools/list': {'tools': [{'name': 'read', 'inputSchema': {'type': 'object', 'properties': {}}}], 'ttlMs': 0, 'cacheScope': 'private'},
                   'tools/call': {'content': [{'type': 'text', 'text': 'read'}]}}
        send(request, 200, {'jsonrpc': '2.0', 'id': message['id'], 'result': {'resultType': 'complete', **results[message['method']]}})

    def end_tokens(self):
        """No token that was given is good any more; the refresh tokens are."""
        self.tokens.append('ended')

    def end_logins(self):
        """Nor are these."""
        self.end_tokens()
        self.refresh_tokens.append('ended')


def send(request, status, document):
    text = json.dumps(document).encode()
    request.send_response(status)
    request.send_header('Content-Type', 'application/json')
    request.send_header('Content-Length', str(len(text)))
    request.end_headers()
    request.wfile.write(text)


def browse(url):
    """What a person's browser does with an address: cookies, redirects, and the page at the end."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    try:
        with opener.open(url, timeout=60) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def sign_in(service, name, browser=browse):
    """`bridges login NAME` with a browser beside it: exit code, all that it wrote, and what the browser saw."""
    command = [str(service.binary), 'bridges', 'login', name, '--config', str(service.write_config())]
    seen = []
    with subprocess.Popen(command, cwd=service.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        lines = []
        for line in program.stdout:
            lines.append(line)
            if line.strip().startswith('http'):
                seen.append(browser(line.strip()))
        code = program.wait(timeout=120)
    return code, ''.join(lines), seen
