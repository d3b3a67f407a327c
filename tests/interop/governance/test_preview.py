"""Rows as somebody else would read them, for whoever governs: at most ten, through the masks and filters of that principal's plan."""
import json
import time

import pytest

from rest import assert_error

PATIENCE_SECONDS = 60


def asked(governed, principal='ana', client='admin', **query):
    return governed.send('GET', 'preview', client=client, **{'table': f'{governed.schema}.t', 'principal': principal, **query})


def preview(governed, principal='ana', **query):
    """Once the copies that it needs are there."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (answer := asked(governed, principal, **query)).status_code == 503 and time.monotonic() < end:
        assert answer.headers['Retry-After'] and 'files are being masked' in answer.json()['error']['message']
    assert answer.status_code == 200, answer.text
    assert answer.headers['Cache-Control'] == 'no-store'
    return answer.json()


def rows(shown):
    return sorted(map(tuple, shown['rows']))


MASKED, RAW = ('1', '***', 'eu'), [('1', '123-45', 'eu'), ('2', '678-90', 'us')]


@pytest.mark.parametrize('in_files', (False, True))
def test_each_principal_is_shown_its_own_rows(governed, in_files):
    mask = governed.mask(unmasked_roles=['auditor'], file_layer_masking=in_files)
    rule = governed.filter(unmasked_roles=['auditor'])
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.post('policy-attachments', **governed.on_table(rule))
    shown = preview(governed)
    assert (shown['kind'], shown['principal'], shown['roles']) == ('file_mask' if in_files else 'cooperative', 'ana', [])
    assert rows(shown) == [MASKED] and shown['is_all']
    assert [(one['name'], one['type'], one['masked'], one['shown']) for one in shown['columns']] == [
        ('id', 'long', False, True), ('ssn', 'string', True, True), ('region', 'string', False, True)]
    assert '123-45' not in json.dumps(shown) and '678-90' not in json.dumps(shown)

    lifted = preview(governed, roles='auditor')
    assert (lifted['kind'], lifted['roles'], rows(lifted)) == ('raw', ['auditor'], RAW)
    governed.post('role-grants', role='auditor', principal=governed.name('dana'))
    assert rows(preview(governed, governed.name('dana'))) == RAW

    governed.delete('policy-attachments', **governed.on_column(mask))
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t DROP COLUMN region')
    refused = preview(governed)
    assert (refused['kind'], refused['rows'], refused['columns'], refused['reason']) == ('refused', [], [], governed.plan()['reason'])


def test_who_does_not_govern_is_shown_nothing(governed):
    for client in ('ana', 'bob'):
        answer = asked(governed, principal=client, client=client)
        assert_error(answer, 403)
        assert '123-45' not in answer.text
    for query, status in (({'table': f'{governed.schema}.none'}, 404), ({'table': ''}, 400), ({'principal': ''}, 400), ({'roles': 'a,,b'}, 400)):
        assert_error(asked(governed, **{'principal': 'ana', **query}), status)


def test_each_look_is_in_the_trail_with_the_one_it_was_for(governed):
    mask = governed.mask()
    governed.post('policy-attachments', **governed.on_column(mask))
    somebody = governed.name('somebody')
    preview(governed, somebody, roles='one,two')
    entry, = governed.audited('preview_rows', object=f'table {governed.schema}.t')
    assert (entry['principal'], entry['decision'], entry['masked_cols'], entry['applied_policies']) == ('admin', 'masked', ['ssn'], [mask])
    detail = entry['detail'] if isinstance(entry['detail'], dict) else json.loads(entry['detail'])
    assert (detail['on_behalf_of'], detail['roles'], detail['kind'], detail['rows']) == (somebody, ['one', 'two'], 'cooperative', 2)
    assert '123-45' not in json.dumps(entry)


def test_ten_rows_are_the_most_and_long_values_are_cut(governed):
    table = f'lake.{governed.schema}.t'
    governed.duck.execute(f"INSERT INTO {table} SELECT 100 + i, repeat('\u00e9', 150 + i), NULL FROM range(100) r(i)")
    shown = preview(governed)
    assert len(shown['rows']) == 10 and not shown['is_all']
    governed.duck.execute(f'DELETE FROM {table} WHERE id < 149')
    shown = preview(governed)
    assert len(shown['rows']) == 10 and not shown['is_all'] and all(int(row[0]) >= 149 for row in shown['rows'])
    governed.duck.execute(f'DELETE FROM {table} WHERE id NOT IN (150, 151)')
    shown = preview(governed)
    assert rows(shown) == [('150', '\u00e9' * 200, None), ('151', '\u00e9' * 200 + '\u2026', None)] and shown['is_all']
    governed.duck.execute(f'DELETE FROM {table}')
    empty = preview(governed)
    assert (empty['rows'], empty['is_all'], len(empty['columns'])) == ([], True, 3)


def test_values_of_every_kind_are_texts_and_a_type_that_cannot_be_read_is_said_to_be_so(governed):
    name = f'{governed.schema}.kinds'
    governed.duck.execute(f'CREATE TABLE lake.{name}(d DATE, n DECIMAL(9, 2), l VARCHAR[], s STRUCT(a BIGINT, b VARCHAR), x BLOB, v VARIANT)')
    governed.duck.execute(f"INSERT INTO lake.{name} VALUES ('2026-01-02', 1.5, ['a', NULL], {{'a': 1, 'b': 'c'}}, '\\x01'::BLOB, 7)")
    shown = preview(governed, table=name)
    assert shown['rows'] == [['2026-01-02', '1.50', '[a, NULL]', "{'a': 1, 'b': c}", '\\x01', None]]
    assert [one['name'] for one in shown['columns'] if not one['shown']] == ['v']
