"""Open Policy Agent as a process, with policies that can be changed while it runs."""
import json
import os
import pathlib
import signal
import urllib.error
import urllib.request

from stack import ports, process

OPA = pathlib.Path(__file__).resolve().parents[2] / '.dev/tools/opa'


class PolicyEngine:
    """`policy` is a text in Rego. It listens on `port` from start() to stop()."""

    def __init__(self, folder, policy):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = ports.any_free()
        self.url = f'http://127.0.0.1:{self.port}'
        self.log = self.folder / 'log'
        self.policy = policy
        self.process = None

    def start(self):
        command = [OPA, 'run', '--server', '--addr', f'127.0.0.1:{self.port}', '--log-level', 'error', '--disable-telemetry']
        self.process = process.start(command, self.log, env={'PATH': '/usr/bin:/bin', 'HOME': str(self.folder)}, cwd=self.folder)
        process.wait_ready('the policy engine', self.process, self.log, self._is_ready, 30)
        self.put(self.policy)
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def put(self, policy):
        """In force when it returns."""
        self.policy = policy
        request = urllib.request.Request(f'{self.url}/v1/policies/authz', policy.encode(), {'Content-Type': 'text/plain'}, method='PUT')
        urllib.request.urlopen(request, timeout=20).close()

    def freeze(self):
        """It takes connections and answers nothing, until thaw()."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def ask(self, question):
        request = urllib.request.Request(f'{self.url}/v1/data/scp/authz', json.dumps({'input': question}).encode(),
                                         {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def _is_ready(self):
        try:
            urllib.request.urlopen(f'{self.url}/health', timeout=2).close()
            return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
