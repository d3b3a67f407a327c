"""Somebody who is asked over HTTP: for consent, or what of an answer may be shown."""
import http.server
import json
import threading


class Hook:
    """Keeps the questions, and answers each with what `answer` makes of it."""

    def __init__(self, answer):
        self.asked = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
                hook.asked.append(question)
                body = json.dumps(answer(question)).encode()
                self.send_response(200)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}/ask'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class ConsentHook(Hook):
    """Approves, unless told otherwise."""

    def __init__(self):
        self.decision = {'decision': 'approve', 'by': 'operator', 'scope': 'once'}
        self.decide = lambda question: self.decision
        self.hold = lambda question: None  # called before the answer; may wait
        super().__init__(self.answer)

    def answer(self, question):
        self.hold(question)
        return self.decide(question)
