"""Writers of one lake at the same time. Each remembers what it was told; the test compares that with the lake."""
import collections
import concurrent.futures
import threading
import time

import duckdb
import requests

from faults.changes import ROWS, add_files, commit_body
from lake_clients import duck as duckdb_client
from oracle import commits

TIMEOUT = 60
MAKERS = 8
PAUSE = 0.1  # seconds between the commits of a DuckDB writer


class Writer(threading.Thread):
    """Commits until the end; an error that is not asked for ends it and is kept."""

    def __init__(self, end):
        super().__init__(daemon=True)
        self.end = end
        self.acknowledged = {}  # batch: rows
        self.statuses = collections.Counter()
        self.count = 0  # of commits that were acknowledged
        self.longest = 0.0  # seconds of one commit
        self.fault = None

    def run(self):
        try:
            while time.monotonic() < self.end:
                began = time.monotonic()
                self.commit()
                self.longest = max(self.longest, time.monotonic() - began)
        except Exception as fault:  # noqa: BLE001  told by the test
            self.fault = fault


class Batches:
    """Numbers that no two commits share."""

    def __init__(self):
        self.lock = threading.Lock()
        self.last = 0

    def next(self):
        with self.lock:
            self.last += 1
            return self.last


class Appenders:
    """Clients that append to one table, so many at once. What a round sends is made before the round begins: the load
    shall be the catalog's, not ours. All stand on the table as it was at first, as clients that were away."""

    def __init__(self, count, url, table, batches):
        self.url = url
        self.table = table
        self.batches = batches
        self.acknowledged = {}
        self.statuses = collections.Counter()
        self.seconds = []  # of each commit
        self.sending = 0.0  # seconds of all rounds
        self.own = threading.local()
        self.makers = concurrent.futures.ThreadPoolExecutor(MAKERS)
        self.senders = concurrent.futures.ThreadPoolExecutor(count)

    def round(self, commits_in_it):
        bodies = list(self.makers.map(self.make, range(commits_in_it)))
        began = time.monotonic()
        for batch, status, seconds in self.senders.map(self.send, bodies):
            self.statuses[status] += 1
            self.seconds.append(seconds)
            if status == 200:
                self.acknowledged[batch] = ROWS
        self.sending += time.monotonic() - began

    def make(self, _):
        batch = self.batches.next()
        snapshot = commits.Snapshot(self.table, 'append')
        add_files(snapshot, batch)
        return batch, commit_body(self.table, snapshot.updates(), commits.main_was(self.table))

    def send(self, made):
        batch, body = made
        if not hasattr(self.own, 'session'):
            self.own.session = requests.Session()
        began = time.monotonic()
        answer = self.own.session.post(self.url, json=body, timeout=TIMEOUT)
        return batch, answer.status_code, time.monotonic() - began


class Replacer(Writer):
    """Replaces the only file of a table, over and over: two of them on one table are in each other's way."""

    def __init__(self, end, url, catalog, name, batches):
        super().__init__(end)
        self.url = url
        self.session = requests.Session()
        self.catalog = catalog
        self.name = name
        self.batches = batches
        self.needless = 0  # refusals although nobody had changed the table

    def commit(self):
        table, batch = self.catalog.load_table(self.name), self.batches.next()
        snapshot = commits.Snapshot(table, 'overwrite')
        snapshot.remove(commits.live(table)[0])
        add_files(snapshot, batch)
        body = commit_body(table, snapshot.updates(), commits.main_was(table))
        answer = self.session.post(self.url, json=body, timeout=TIMEOUT)
        self.statuses[answer.status_code] += 1
        if answer.status_code == 200:
            self.count += 1
            self.acknowledged = {batch: ROWS}  # what it replaced is gone
        elif answer.status_code == 409:
            now = self.catalog.load_table(self.name)
            self.needless += now.metadata.current_snapshot_id == table.metadata.current_snapshot_id


class Duck(Writer):
    """DuckDB on the lake itself, with its own settings. It tries ten times to take a snapshot id, and gives up then,
    with nothing done: many writers of DuckDB bring each other to that without any of ours."""

    def __init__(self, end, lake, table, rows, batches):
        super().__init__(end)
        self.connection = duckdb_client.connect_lake(lake)
        self.connection.execute('RESET threads')
        self.table = table
        self.rows = rows
        self.batches = batches
        self.gave_up = 0

    def commit(self):
        batch = self.batches.next()
        try:
            self.connection.execute(f'INSERT INTO {self.table} SELECT {batch}, range FROM range({self.rows})')
        except duckdb.TransactionException as fault:
            if 'maximum retry count' not in str(fault):
                raise
            self.gave_up += 1
        else:
            self.acknowledged[batch] = self.rows
            self.count += 1
        time.sleep(PAUSE)
