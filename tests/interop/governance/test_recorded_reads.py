"""Each way to the files of a governed table is in the trail before it is answered, with what policies made of it."""
import pytest

from by_hand import Watched
from governed import clients_of
from rest import assert_error
from stack.process import wait_until
from test_cooperative import damage, masked, path  # noqa: F401  a fixture too

# How a client gets to files without a load, and what it is in the trail.
READS = {'plan': ('POST', 'plan_table_scan', {'json': {}}), 'credentials': ('GET', 'load_table', {})}


def ask(governed, client, read):
    method, _, more = READS[read]
    return governed.clients[client].send(method, f'{path(governed)}/{read}', **more)


def recorded(governed, read, client):
    """What the trail says of the client's reads of this kind, the newest first."""
    return governed.audited(READS[read][1], object=f'table {governed.schema}.t', principal=client)


@pytest.mark.parametrize('read', READS)
def test_a_read_without_a_load_has_a_record(masked, read):  # noqa: F811
    signature = masked.plan()['signature']
    answers = {client: ask(masked, client, read) for client in ('ana', 'bob')}
    assert [answer.status_code for answer in answers.values()] == [200, 200]
    entry, = recorded(masked, read, 'ana')
    assert entry['decision'] == 'masked' and entry['masked_cols'] == ['ssn']
    assert entry['applied_policies'] == sorted([masked.hide, masked.keep])
    assert entry['detail'] == {'tier': 'cooperative', 'signature': signature}
    assert entry['request_id'] == answers['ana'].headers['X-Request-Id']
    entry, = recorded(masked, read, 'bob')
    assert entry['decision'] == 'unmasked' and entry['detail'] == {'lifted': sorted([masked.hide, masked.keep])}


@pytest.mark.parametrize('read', READS)
def test_a_table_without_policies_has_none(governed, read):
    assert ask(governed, 'ana', read).status_code == 200
    assert recorded(governed, read, 'ana') == []


@pytest.mark.parametrize('read', READS)
def test_a_read_that_is_open_since_policies_cannot_be_told_is_recorded_so(masked, stack, settings, read):  # noqa: F811
    damage(masked, masked.hide)
    assert ask(masked, 'ana', read).status_code == 200
    entry, = recorded(masked, read, 'ana')
    assert entry['decision'] == 'failed_open' and entry['detail']['unmasked_because']
    with Watched.beside(stack, **settings, LAKEPROXY_GOVERNANCE_FAIL_CLOSED='1') as closed:
        masked.clients = clients_of(closed)
        assert_error(ask(masked, 'ana', read), 503)
        assert wait_until(lambda: recorded(masked, read, 'ana')[0]['decision'] == 'failed_closed', 10)


@pytest.mark.parametrize('read', READS)
def test_what_cannot_be_recorded_is_not_answered(masked, read):  # noqa: F811
    assert ask(masked, 'ana', read).status_code == 200
    masked.ask('ALTER TABLE lakeproxy_audit RENAME TO lakeproxy_audit_away')
    try:
        answer = ask(masked, 'bob', read)
        assert_error(answer, 503)
        assert '.parquet' not in answer.text and 'secret' not in answer.text
    finally:
        masked.ask('ALTER TABLE lakeproxy_audit_away RENAME TO lakeproxy_audit')
