"""Offers the tools that stand in a file, and says so when the file changes."""
import json
import os
import pathlib
import sys
import threading
import time

import plain

FILE = pathlib.Path(sys.argv[1])


def watch():
    before = os.stat(FILE)
    while True:
        time.sleep(0.05)
        now = os.stat(FILE)
        if (now.st_mtime_ns, now.st_ino) != (before.st_mtime_ns, before.st_ino):
            before = now
            plain.send({'method': 'notifications/tools/list_changed'})


threading.Thread(target=watch, daemon=True).start()
plain.serve(lambda params: {'tools': json.loads(FILE.read_text())}, lambda id, name, arguments, ask: plain.text_result(name, structuredContent={'n': 1}))
