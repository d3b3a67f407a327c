"""A publication that nothing recorded is made anew: gc may have removed its objects meanwhile. An orderly stop leaves none."""
import concurrent.futures
import subprocess

import requests

from faults.changes import Maker
from faults.reader import Reader
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from faults.test_steps import ANSWERED
from rest import Rest
from stack import object_store, postgres
from stack.process import wait_until

FOLDER = f's3://{object_store.BUCKET}/data/faults'


def test_objects_that_gc_removed_before_their_record_are_there_again():
    with own_stack('unrecorded', LAKEPROXY_FILE_GRACE='0', LAKEPROXY_DISABLE_NOTIFY='1') as stack, Faulty(stack, {}) as server:
        reader = Reader(stack, lake_of(stack))
        change = Maker(reader.iceberg, reader).append()
        name, = change.after
        with concurrent.futures.ThreadPoolExecutor(1) as sender:
            server.arm(ANSWERED, 'pause')
            answer = sender.submit(change.send, server)
            paused = server.await_pause(ANSWERED)
            assert answer.result(SECONDS) == 200, 'the client has its answer'
        stack.stop(stack.postgres)
        paused.unlink()
        assert wait_until(lambda: 'a publication could not be recorded' in server.log.read_text(), SECONDS)
        stack.start(stack.postgres)
        stored = reader.reaching.stored(FOLDER)
        subprocess.run([stack.state['binary'], 'gc', '--remove', '--older-than', '0s'], env=stack.catalog.environment(),
                       cwd=stack.folder, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
        assert len(stored) > len(reader.reaching.stored(FOLDER)), 'gc took the unrecorded ones'
        reader.connect()
        own = Rest(server.uri(), 'lake')
        assert wait_until(lambda: own.get(f'namespaces/faults/tables/{name}').status_code == 200, SECONDS)
        assert reader.state(change.after) == change.after


def test_what_was_answered_is_recorded_before_an_orderly_stop():
    with own_stack('stopped', LAKEPROXY_DISABLE_NOTIFY='1') as stack, Faulty(stack, {}) as server:
        reader = Reader(stack, lake_of(stack))
        change = Maker(reader.iceberg, reader).append()
        answer = requests.post(f'{server.uri()}/v1/lake/{change.path}', json=change.body, timeout=SECONDS)
        server.server.stop()
        place = answer.json()['metadata-location']
        found = stack.postgres.query(postgres.DATABASE, f"SELECT 1 FROM lakeproxy_metadata_log WHERE metadata_file = '{place}'")
        assert found.strip() == '1'
        assert reader.state(change.after) == change.after
