"""Work behind an answer, while the catalog that it is for makes room for another."""
import contextlib
import dataclasses

import requests

from faults.changes import ROWS, SCHEMA, appending, rows
from faults.reader import counted
from faults.servers import SECONDS, Faulty, lake_of, own_stack
from faults.test_steps import PUT
from lake_clients import iceberg as iceberg_client
from stack.process import wait_until

ROUNDS = 3
# One loop that keeps one catalog; what is freed is overwritten, so that using it shows also without a sanitizer.
SETTINGS = {'LAKEPROXY_MAX_ACTIVE_CATALOGS': '1', 'LAKEPROXY_WORKERS': '1', 'LAKEPROXY_DISABLE_NOTIFY': '1',
            'MALLOC_PERTURB_': '165'}
TABLES = ('left', 'right')


def registered(server, stack, name):
    body = {'catalog_id': name, 'metadata_schema': f'meta_{name}', 'data_prefix': f'tenants/{name}/'}
    assert requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=SECONDS).status_code == 201
    return dataclasses.replace(lake_of(stack), uri=server.uri(), warehouse=name)


def names(server, catalog):
    return requests.get(f'{server.uri()}/v1/{catalog}/namespaces', timeout=SECONDS).status_code


def test_a_catalog_lives_until_the_work_behind_an_answer_is_done():
    with contextlib.ExitStack() as entered:
        stack = entered.enter_context(own_stack('let-go'))
        server = entered.enter_context(Faulty(stack, SETTINGS))
        first, _ = (registered(server, stack, name) for name in ('first', 'second'))
        catalog = iceberg_client.connect(first)
        catalog.create_namespace('s')
        for name in TABLES:
            catalog.create_table(f's.{name}', SCHEMA).append(rows(0))
        expected = {0: ROWS}
        for batch in range(1, ROUNDS + 1):
            changes = [appending(catalog.load_table(f's.{name}'), batch) for name in TABLES]
            server.arm(PUT, 'pause')
            answer = requests.post(f'{server.uri()}/v1/first/transactions/commit', json={'table-changes': changes},
                                   timeout=SECONDS)
            assert answer.status_code == 204
            paused = server.await_pause(PUT)
            # The first catalog makes room, while its tables are being published.
            assert names(server, 'second') == 200
            paused.unlink()
            assert wait_until(lambda: names(server, 'first') == 200, SECONDS)
            expected[batch] = ROWS
            for name in TABLES:
                assert counted(catalog.load_table(f's.{name}')) == expected
        assert server.server.alive()
