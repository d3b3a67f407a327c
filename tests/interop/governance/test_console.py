"""The governance console at /ui, as a person uses it: signing in, looking around, writing governance, being refused."""
import os
import pathlib
import re

import pytest
import requests
from playwright.sync_api import expect

from by_hand import Watched
from rest import assert_error

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = ROOT / 'lakeproxy/console'
POLICY = {'default-src': "'none'", 'script-src': "'self'", 'style-src': "'self'", 'connect-src': "'self'", 'img-src': "'self'", 'base-uri': "'none'",
          'frame-ancestors': "'none'", 'form-action': "'none'", 'require-trusted-types-for': "'script'", 'trusted-types': "'none'"}
MARKUP = '<img src=x onerror=alert(1)>'
SCRIPT = '<script>alert(1)</script>'


def fetched(server, path, method='GET', **headers):
    return requests.request(method, server.uri() + path, headers=headers, timeout=30)


# The files, which are the same for everybody.


def test_the_files_are_public_and_say_what_a_browser_may_do_with_them(server):
    page = fetched(server, '/ui')
    linked = re.findall(r'(?:href|src)="(ui/[^"]+)"', page.text)
    assert sorted(linked) == ['ui/console.css', 'ui/console.js', 'ui/icon.svg']
    files = {'': 'text/html; charset=utf-8'}
    for file in SOURCES.iterdir():
        kinds = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.svg': 'image/svg+xml'}
        if file.suffix in kinds:
            files[f'/{file.name}'] = kinds[file.suffix]
    for path, media_type in files.items():
        answer = fetched(server, '/ui' + path)
        assert answer.status_code == 200 and answer.headers['Content-Type'] == media_type
        assert answer.content == (SOURCES / (path[1:] or 'index.html')).read_bytes()
        assert dict(part.strip().split(' ', 1) for part in answer.headers['Content-Security-Policy'].split(';')) == POLICY
        assert (answer.headers['X-Content-Type-Options'], answer.headers['Referrer-Policy']) == ('nosniff', 'no-referrer')
        assert 'Set-Cookie' not in answer.headers and 'Access-Control-Allow-Origin' not in answer.headers
        head = fetched(server, '/ui' + path, 'HEAD')
        assert head.status_code == 200 and not head.content and head.headers['Content-Length'] == str(len(answer.content))
        known = fetched(server, '/ui' + path, **{'If-None-Match': answer.headers['ETag']})
        assert known.status_code == 304 and not known.content and 'Content-Security-Policy' in known.headers
        assert fetched(server, '/ui' + path, **{'If-None-Match': '"another"'}).status_code == 200
    assert fetched(server, '/ui', 'POST').status_code == 405
    for path in ('/ui/none.js', '/ui/README.md', '/ui/console_files.cc', '/ui/..%2Fconsole.js', '/ui/', '/ui/a/b'):
        assert_error(fetched(server, path), 404)


def test_the_console_can_be_switched_off(stack):
    with Watched.beside(stack, LAKEPROXY_CONSOLE='0') as server:
        for path in ('/ui', '/ui/console.js'):
            assert_error(fetched(server, path), 404)
        assert fetched(server, '/v1/config').status_code == 200


def test_no_text_can_become_markup_or_code():
    """One file makes elements, and it knows no way from a text to markup."""
    for file in [*SOURCES.glob('*.js'), *SOURCES.glob('*.html')]:
        text = file.read_text()
        found = re.findall(r'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|DOMParser|srcdoc|style=|\son\w+="|javascript:|'
                           r'localStorage|sessionStorage|indexedDB|document\.cookie|https?://', text)
        assert not found, file.name
        assert file.name == 'dom.js' or 'createElement' not in text, file.name


# Signing in


def test_a_wrong_secret_is_said_to_be_one(console):
    tab = console(refusals={401})
    tab.sign_in('admin', 'wrong')
    tab.refused('The server knows no such client with this secret.')
    tab.titled('Sign in')
    expect(tab.page.get_by_role('navigation')).to_be_hidden()
    tab.sign_in('admin')
    tab.titled('Catalog lake')


KEPT = '() => [Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href, history.state]'


def test_the_token_is_in_the_memory_of_the_page_alone(console, tokens):
    tab = console(refusals={401})
    tab.page.get_by_label('Bearer token').fill('no.token')
    tab.page.get_by_role('button', name='Use it').click()
    tab.refused('The server does not take this token')
    tab.page.get_by_label('Bearer token').fill('a\u00e9 b')
    tab.page.get_by_role('button', name='Use it').click()
    tab.refused('no bearer token')
    tab.page.get_by_label('Bearer token').fill(tokens['admin'].token)
    tab.page.get_by_role('button', name='Use it').click()
    tab.titled('Catalog lake')
    tab.go('Audit')
    tab.titled('Audit trail')
    assert tab.page.evaluate(KEPT) == [[], [], '', f'{tab.uri}/ui#/audit', None]
    assert not [url for url in tab.requests if tokens['admin'].token in url]
    tab.page.reload()
    tab.titled('Sign in')
    tab.sign_in('admin')
    tab.titled('Audit trail')  # Where its address says.
    assert tab.page.evaluate(KEPT) == [[], [], '', f'{tab.uri}/ui#/audit', None]
    tab.page.get_by_role('button', name='Sign out').click()
    tab.titled('Sign in')
    tab.open('#/tags')
    tab.titled('Sign in')


def test_a_secret_goes_in_a_body_and_never_in_an_address(console):
    tab = console()
    sent = []
    tab.page.on('request', lambda request: sent.append((request.method, request.url, request.post_data, request.headers)))
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    asked = [one for one in sent if one[1].endswith('/v1/oauth/tokens')]
    assert [(method, body) for method, _, body, _ in asked] == [('POST', 'grant_type=client_credentials&client_id=admin&client_secret=s')]
    assert [(url, headers) for _, url, _, headers in sent if headers.get('cookie') or headers.get('referer')] == []


def test_a_token_that_is_no_longer_taken_leads_back_to_the_entrance(console):
    tab = console(refusals={401})
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    tab.context.route('**/governance/**', lambda route: route.fulfill(status=401, json={'error': {'message': 'expired', 'type': 'x', 'code': 401}}))
    tab.go('Tags')
    tab.titled('Sign in')
    tab.refused('its time is over')


def test_an_open_server_asks_for_nothing_and_another_does(console, lake):
    tab = console(lake.uri)
    tab.page.get_by_role('button', name='Go on without a token').click()
    tab.titled('Catalog lake')
    expect(tab.page.get_by_text('open server')).to_be_visible()
    guarded = console(refusals={401})
    guarded.page.get_by_role('button', name='Go on without a token').click()
    guarded.refused('The server does not take this token')


# Looking around


def test_namespaces_tables_columns_snapshots_and_sizes_are_shown(console, governed):
    governed.duck.execute(f"COMMENT ON COLUMN lake.{governed.schema}.t.region IS 'where it was sold'")
    tag, mask = governed.tag(), governed.mask()
    governed.post('object-tags', **governed.tagged(tag))
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    tab = console(refusals={403})
    tab.sign_in('ana')
    tab.page.get_by_role('link', name=governed.schema, exact=True).click()
    tab.titled(f'Namespace {governed.schema}')
    tab.page.get_by_role('link', name='t', exact=True).click()
    tab.titled('Table t')
    tab.reads('Masked for you: ssn', 'Format version')
    expect(tab.row('Columns', 'region')).to_contain_text('string')
    expect(tab.row('Columns', 'region')).to_contain_text('where it was sold')
    expect(tab.row('Columns', 'ssn')).to_contain_text(f'masked by policy {mask}')
    expect(tab.row('Snapshots', 'append')).to_contain_text('2')
    size = tab.page.locator('dt', has_text='Size of the data files').locator('xpath=following-sibling::dd')
    expect(size).to_have_text(re.compile(r'^[\d.]+ (bytes|kB)$'))


@pytest.fixture
def reader(console):
    tab = console(refusals={403})
    tab.sign_in('ana')
    tab.titled('Catalog lake')
    return tab


def test_a_reader_is_told_in_words_what_is_not_theirs(reader, governed):
    for page in ('Tags', 'Policies', 'Grants', 'What would they see?', 'Audit'):
        reader.go(page)
        reader.titled(page)
        reader.refused('Your token does not allow this', 'for the administrator')
        expect(reader.page.get_by_role('main').get_by_role('button')).to_have_count(0)
    reader.open(f'#/table?name={governed.schema}.t')
    reader.titled('Table t')  # What is theirs is there, beside the refusal of the rest.
    reader.refused('for the administrator')
    expect(reader.row('Columns', 'region')).to_contain_text('string')


def test_the_administrator_sees_what_reaches_a_table(console, governed):
    tag, mask, rows = governed.tag(), governed.mask(), governed.filter()
    governed.post('object-tags', **governed.tagged(tag, 'table'))
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.post('policy-attachments', **governed.on_table(rows))
    tab = console()
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    tab.open(f'#/table?name={governed.schema}.t')
    tab.titled('Table t')
    expect(tab.row('Tags', tag['tag_namespace'])).to_contain_text('the table')
    expect(tab.row('Policies', mask)).to_contain_text(f'tag {tag["tag_namespace"]}.ssn')
    expect(tab.row('Policies', rows)).to_contain_text('attached to it')


def test_a_catalog_of_the_server_is_listed_and_opened(console, governed, server):
    name = f'c{governed.schema}'
    body = {'catalog_id': name, 'metadata_schema': f'm_{name}', 'data_prefix': f'console/{name}/'}
    made = requests.post(f'{server.uri()}/v1/catalogs', json=body, timeout=60, headers={'Authorization': f'Bearer {governed.clients["admin"].token}'})
    assert made.status_code == 201, made.text
    tab = console(refusals={404, 403})
    tab.sign_in('admin')
    expect(tab.row('Catalogs', name)).to_contain_text(f'm_{name}')
    tab.page.get_by_role('button', name=f'Open {name}').click()
    tab.titled(f'Catalog {name}')
    tab.page.get_by_label('Catalog id').fill('nosuch')
    tab.page.get_by_role('button', name='Open', exact=True).last.click()
    tab.refused('Not found', 'nosuch')
    # A reader learns of no catalog, and may open one by its name.
    tab.page.get_by_role('button', name='Sign out').click()
    tab.sign_in('ana')
    tab.refused('Your token does not allow this')
    tab.page.get_by_label('Catalog id').fill(name)
    tab.page.get_by_role('button', name='Open', exact=True).click()
    tab.titled(f'Catalog {name}')


def test_names_and_comments_with_markup_stay_text(console, governed):
    quoted = f'lake.{governed.schema}."{MARKUP}"'
    governed.duck.execute(f'CREATE TABLE {quoted}("{SCRIPT}" VARCHAR, id BIGINT)')
    governed.duck.execute(f"COMMENT ON COLUMN {quoted}.\"{SCRIPT}\" IS '{MARKUP} {governed.schema}'")
    tag = {'tag_namespace': f'{MARKUP} {governed.schema}', 'tag_name': SCRIPT}
    governed.post('tags', namespace=tag['tag_namespace'], name=SCRIPT, allowed_values=[MARKUP])
    mask = governed.mask(f'{SCRIPT} mask', body=f"'{MARKUP}'")
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    column = {'object_kind': 'column', 'schema': governed.schema, 'object': MARKUP, 'column': SCRIPT}
    governed.post('object-tags', **column, **tag, value=MARKUP)
    somebody = f'{SCRIPT} {governed.schema}'
    governed.post('role-grants', role=f'{MARKUP} {governed.schema}', principal=somebody)
    tab = console(refusals={404})
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    tab.page.get_by_role('link', name=governed.schema, exact=True).click()
    tab.page.get_by_role('link', name=MARKUP, exact=True).click()
    tab.titled(f'Table {MARKUP}')
    expect(tab.row('Columns', SCRIPT)).to_contain_text(f'{MARKUP} {governed.schema}')
    tab.page.get_by_role('link', name='What would somebody see').click()
    tab.titled('What would somebody see?')
    tab.submit('What would this principal see?', Principal=somebody)
    tab.reads(f"'{MARKUP}'", f'Its roles: {MARKUP} {governed.schema}.')
    for page, text in [('Tags', tag['tag_namespace']), ('Policies', mask), ('Grants', f'{MARKUP} {governed.schema}'), ('Audit', SCRIPT)]:
        tab.go(page)
        tab.reads(text)
    tab.open(f'#/table?name={governed.schema}.{SCRIPT.replace("/", "%2F")}')
    tab.refused(SCRIPT)  # The server's words about it, too.
    assert tab.page.locator('img, main script, main iframe').count() == 0
    assert tab.page.evaluate('() => document.scripts.length') == 1


# What somebody would see


def test_what_somebody_would_see_is_explained(console, governed):
    tag, mask, rows = governed.tag(), governed.mask(unmasked_roles=['auditor']), governed.filter()
    governed.post('policy-attachments', **governed.on_tag(mask, tag))
    governed.post('object-tags', **governed.tagged(tag))
    governed.post('policy-attachments', **governed.on_table(rows))
    tab = console(refusals={404})
    tab.sign_in('admin')
    tab.go('What would they see?')
    tab.submit('What would this principal see?', Table=f'{governed.schema}.t', Principal='ana')
    expect(tab.page.locator('#outcome')).to_contain_text('ana is told masks and filters')
    masked = tab.row('Columns', mask)
    for text in ('ssn', f'tag {tag["tag_namespace"]}.ssn of the column', 'binds', "'***'"):
        expect(masked).to_contain_text(text)
    expect(tab.row('Rows', rows)).to_contain_text('attached to the table')
    tab.reads("region", "= 'eu'", 'WHERE')
    tab.submit('What would this principal see?', Roles='auditor')
    expect(tab.row('Columns', mask)).to_contain_text('does not bind: one of its roles is auditor')
    tab.reads('Its roles: auditor.')
    governed.mask(file_layer_masking=True)
    tab.submit('What would this principal see?', Roles='')
    expect(tab.page.locator('#outcome')).to_contain_text('ana sees a copy that the masks were put into')
    governed.delete('policy-attachments', **governed.on_tag(mask, tag))
    governed.duck.execute(f'ALTER TABLE lake.{governed.schema}.t DROP COLUMN region')
    tab.submit('What would this principal see?')
    expect(tab.page.locator('#outcome')).to_contain_text(f'ana cannot read the table: {governed.plan()["reason"]}')
    governed.delete('policy-attachments', **governed.on_table(rows))
    tab.submit('What would this principal see?')
    expect(tab.page.locator('#outcome')).to_contain_text('ana sees the table as it is')
    tab.submit('What would this principal see?', Table=f'{governed.schema}.none')
    tab.refused('Not found', 'none')


def test_some_rows_are_shown_as_they_would_see_them(console, governed):
    mask, rows = governed.mask(unmasked_roles=['auditor']), governed.filter(unmasked_roles=['auditor'])
    governed.post('policy-attachments', **governed.on_column(mask))
    governed.post('policy-attachments', **governed.on_table(rows))
    governed.duck.execute(f"INSERT INTO lake.{governed.schema}.t VALUES (3, '{MARKUP}', 'eu'), (4, NULL, NULL)")
    tab = console(refusals={503})
    tab.sign_in('admin')
    tab.go('What would they see?')
    tab.submit('What would this principal see?', Table=f'{governed.schema}.t', Principal='ana')
    assert not governed.audited('preview_rows', object=f'table {governed.schema}.t')  # Nobody has looked yet.
    button = tab.page.get_by_role('button', name='Show ten rows')
    button.focus()
    tab.page.keyboard.press('Enter')
    tab.told('2 rows are shown.')
    for row in ('1', '3'):
        expect(tab.row('Its rows', row)).to_contain_text('***')
    expect(tab.row('Its rows', 'ssn, masked')).to_have_count(1)
    tab.reads('It sees no other rows.')
    assert '123-45' not in tab.page.content() and MARKUP not in tab.page.content()
    tab.submit('What would this principal see?', Roles='auditor')
    button.click()
    tab.told('4 rows are shown.')
    expect(tab.row('Its rows', 'null')).to_have_count(1)
    tab.reads(MARKUP, '123-45')
    assert tab.page.locator('img').count() == 0
    # Copies that are being made are said to be so.
    tab.context.route('**/governance/preview?**', lambda route: route.fulfill(
        status=503, headers={'Retry-After': '1'}, json={'error': {'message': 'masked 0 of 4 files', 'type': 'x', 'code': 503}}))
    button.click()
    tab.refused('masked 0 of 4 files', 'Ask again in a moment')
    expect(tab.page.get_by_role('region', name='Its rows')).to_have_count(0)


# Writing


def test_tags_are_made_put_on_taken_off_and_deleted(console, governed):
    name_space = governed.name('pii')
    tab = console(refusals={409, 404, 400})
    tab.sign_in('admin')
    tab.go('Tags')
    tab.submit('Make a tag', Namespace=name_space, Name='level', Allowed='high, low')
    tab.told(f'The tag {name_space}.level is there.')
    expect(tab.row('Tags', f'{name_space}.level')).to_contain_text('high, low')
    assert {'namespace': name_space, 'name': 'level', 'allowed-values': ['high', 'low']} in governed.listed('tags')
    on = {'Tag': f'{name_space}.level', 'On': 'a column', 'Schema': governed.schema, 'Table': 't', 'Column': 'ssn'}
    tab.submit('Put a tag on something', **on, Value='middle')
    tab.refused('The server does not take this', 'value')
    tab.submit('Put a tag on something', **{**on, 'Column': 'none'}, Value='high')
    tab.refused('Not found', 'upper and lower case')
    tab.submit('Put a tag on something', **on, Value='high')
    tab.told(f'The tag is on {governed.schema}.t.ssn.')
    assigned = {'object-kind': 'column', 'schema': governed.schema, 'object': 't', 'column': 'ssn', 'tag-namespace': name_space, 'tag-name': 'level', 'value': 'high'}
    assert assigned in governed.listed('object-tags')

    tab.take(f'Delete the tag {name_space}.level', 'Delete')
    tab.refused('Refused, because it would contradict what is there', 'still in use', 'Take it away there first')
    assert [one for one in governed.listed('tags') if one['namespace'] == name_space]
    tab.page.get_by_role('button', name=f'Take the tag {name_space}.level off {governed.schema}.t.ssn').click()
    tab.page.get_by_role('dialog').get_by_role('button', name='Keep it').click()
    assert assigned in governed.listed('object-tags')
    tab.take(f'Take the tag {name_space}.level off {governed.schema}.t.ssn', 'Take off')
    tab.told('The tag is taken off')
    assert assigned not in governed.listed('object-tags')
    tab.take(f'Delete the tag {name_space}.level', 'Delete')
    tab.told('The tag is deleted.')
    assert not [one for one in governed.listed('tags') if one['namespace'] == name_space]


def test_policies_are_attached_and_a_second_mask_is_explained(console, governed):
    tag, one, two, rows = governed.tag(), governed.mask('one'), governed.mask('two'), governed.filter('rows', 'part = 1', '(part BIGINT)')
    governed.post('object-tags', **governed.tagged(tag))
    tab = console(refusals={409, 400})
    tab.sign_in('admin')
    tab.go('Policies')
    tab.submit('Attach a mask', Policy=one, To='a tag', Tag=f'{tag["tag_namespace"]}.ssn')
    tab.told(f'{one} is attached')
    expect(tab.row('Where they apply', one)).to_contain_text(f'tag {tag["tag_namespace"]}.ssn')
    assert governed.plan()['applied_policies'] == [one]
    column = {'To': 'a column', 'Schema': governed.schema, 'Table': 't', 'Column': 'ssn'}
    tab.submit('Attach a mask', Policy=two, **column)
    tab.refused('A second mask would reach', 'A column has one mask at most')
    assert governed.plan()['applied_policies'] == [one]
    tab.take(f'Detach {one} from tag {tag["tag_namespace"]}.ssn', 'Detach')
    tab.told('detached')
    tab.submit('Attach a mask', Policy=two, **column)
    tab.told(f'{two} is attached')
    assert governed.plan()['applied_policies'] == [two]

    table = {'Policy': rows, 'To': 'a table', 'Schema': governed.schema, 'Table': 't'}
    tab.submit('Attach a row-access policy', **table)
    tab.refused('The server does not take this', 'columns')
    tab.submit('Attach a row-access policy', **table, Columns='id')
    tab.told(f'{rows} is attached')
    assert governed.plan()['row_filter'] == '(("id" = 1))'


def test_policies_are_written_and_what_the_engine_says_is_explained(console, governed):
    mask, rows = governed.name('written'), governed.name('kept')
    tab = console(refusals={400, 409})
    tab.sign_in('admin')
    tab.go('Policies')
    given = {'Name': mask, 'Arguments': '(v VARCHAR)', 'Roles': 'auditor, steward', 'Where': 'told to readers, who apply it'}
    for body, said, advice in (('left(v', 'syntax error', 'count quotes and brackets'), ('ssn', "none of the signature's arguments", 'by the names that the signature gives'),
                               ("getenv('HOME')", 'is not allowed', 'none that reads files'), ('SELECT 1; SELECT 2', 'syntax error', 'no second statement')):
        tab.submit('Write a mask', **given, Body=body)
        tab.refused('The server does not take this', said, advice)
    assert not [one for one in governed.listed('masking-policies') if one['name'] == mask]
    tab.submit('Write a mask', **given, Body="left(v, 1) || '***'")
    tab.told(f'The policy {mask} is written.')
    written, = [one for one in governed.listed('masking-policies') if one['name'] == mask]
    assert (written['body'], written['unmasked-roles'], written['file-layer-masking']) == ("left(v, 1) || '***'", ['auditor', 'steward'], False)
    expect(tab.row('Masks', mask)).to_contain_text('auditor, steward')

    # One of that name is replaced once its user has said so.
    again = {**given, 'Body': "'***'", 'Where': 'in the files: nobody reaches a raw value'}
    dialog = tab.page.get_by_role('dialog')
    tab.submit('Write a mask', **again)
    dialog.get_by_role('button', name='Keep it').click()
    tab.refused('Nothing was changed.')
    assert written in governed.listed('masking-policies')
    tab.submit('Write a mask', **again)
    dialog.get_by_role('button', name='Replace').click()
    expect(tab.row('Masks', mask)).not_to_contain_text('left')
    written, = [one for one in governed.listed('masking-policies') if one['name'] == mask]
    assert (written['body'], written['file-layer-masking']) == ("'***'", True)

    tab.submit('Write a row-access policy', Name=rows, Arguments='(region VARCHAR)', Body='region', Roles='')
    tab.refused('must be BOOLEAN', 'write a comparison')
    tab.submit('Write a row-access policy', Name=rows, Arguments='(region VARCHAR)', Body="region = 'eu'", Roles='')
    tab.told(f'The policy {rows} is written.')
    governed.post('policy-attachments', **governed.on_table(rows))
    tab.take(f'Delete the policy {rows}', 'Delete')
    tab.refused('Refused, because it would contradict what is there', 'Detach it first.')
    tab.take(f'Delete the policy {mask}', 'Delete')
    tab.told('The policy is deleted.')
    assert not [one for one in governed.listed('masking-policies') if one['name'] == mask]
    assert [one for one in governed.listed('row-access-policies') if one['name'] == rows]


def test_roles_and_grants_are_given_and_revoked(console, governed):
    role = governed.name('stewards')
    tab = console(refusals={409})
    tab.sign_in('admin')
    tab.go('Grants')
    tab.submit('List a role', Role=role)
    tab.told(f'The role {role} is listed.')
    tab.submit('Give somebody a role', Principal='ana', Role=role)
    tab.told(f'ana has the role {role}.')
    tab.submit('Grant something to a role', Role=role, May='insert', On='a table', Schema=governed.schema, Table='t')
    tab.told(f'{role} may insert {governed.schema}.t.')
    assert {'role': role, 'principal': 'ana'} in governed.listed('role-grants')
    grant = {'object-kind': 'table', 'schema': governed.schema, 'object': 't', 'privilege': 'insert', 'role': role}
    assert grant in governed.listed('object-grants')
    tab.take(f'Delete the role {role}', 'Delete')
    tab.refused('The role is still in use', 'Take it away there first')
    tab.take(f'Revoke insert on {governed.schema}.t from {role}', 'Revoke')
    tab.told('The grant is revoked.')
    tab.take(f'Take the role {role} from ana', 'Revoke')
    tab.told('The role is revoked')
    tab.take(f'Delete the role {role}', 'Delete')
    tab.told('The role is deleted.')
    assert grant not in governed.listed('object-grants')
    assert not [one for one in governed.listed('roles') + governed.listed('role-grants') if role in one.values()]


# The audit trail


def test_the_audit_trail_is_searched_and_paged(console, governed):
    role = governed.name('many')
    for number in range(53):
        governed.post('role-grants', role=role, principal=f'p{number}')
    mask = governed.mask()
    governed.post('policy-attachments', **governed.on_column(mask))
    assert governed.clients['ana'].get(f'namespaces/{governed.schema}/tables/t').status_code == 200
    tab = console()
    tab.sign_in('admin')
    tab.go('Audit')
    tab.submit('Search: whole names', Object=role)
    rows = tab.page.get_by_role('region', name='Audit trail').get_by_role('row')
    expect(rows).to_have_count(51)
    expect(rows.nth(1)).to_contain_text('"p52"')
    tab.page.get_by_role('link', name='Older').click()
    expect(rows).to_have_count(4)
    expect(rows.nth(3)).to_contain_text('"p0"')
    expect(tab.page.get_by_role('link', name='Older')).to_have_count(0)
    tab.page.get_by_role('link', name='Newest').click()
    expect(rows).to_have_count(51)
    tab.page.go_back()
    expect(rows).to_have_count(4)
    tab.submit('Search: whole names', Object=f'table {governed.schema}.t', Principal='ana', Operation='load_table')
    for text in ('masked: ssn', f'policies: {mask}', 'cooperative'):
        expect(rows.nth(1)).to_contain_text(text)
    tab.page.get_by_role('link', name='load_table').first.click()  # The same operation, of the same principal and object.
    expect(tab.page.get_by_label('Operation')).to_have_value('load_table')
    expect(rows).to_have_count(2)
    tab.submit('Search: whole names', Principal='nobody at all')
    tab.reads('No entry is like that.')


# For everybody


def test_everything_is_done_with_the_keyboard_alone(console, governed):
    name_space = governed.name('keys')
    tab = console()
    press = tab.page.keyboard.press

    def reach(selector):
        """Tab, until what is meant has the focus, and can be seen to have it."""
        for _ in range(400):
            press('Tab')
            if tab.page.evaluate('wanted => document.activeElement.matches(wanted)', selector):
                outline = tab.page.evaluate('() => getComputedStyle(document.activeElement).outlineStyle')
                assert outline == 'solid'
                return
        raise AssertionError(f'the keyboard does not get to {selector}')

    reach('[name=client]')
    tab.page.keyboard.type('admin')
    reach('[name=secret]')
    tab.page.keyboard.type('s')
    press('Enter')
    tab.titled('Catalog lake')
    # The title has the focus, and a skip link leads past the navigation.
    assert tab.page.evaluate('() => document.activeElement.tagName') == 'H1'
    tab.page.evaluate('() => document.activeElement.blur()')
    reach('.skip')
    press('Enter')
    assert tab.page.evaluate('() => document.activeElement.id') == 'main'
    tab.page.evaluate('() => document.activeElement.blur()')
    reach('nav a[href="#/tags"]')
    press('Enter')
    tab.titled('Tags')
    reach('[name=namespace]')
    tab.page.keyboard.type(name_space)
    reach('[name=name]')
    tab.page.keyboard.type('k')
    press('Enter')
    tab.told(f'The tag {name_space}.k is there.')
    delete = f'[aria-label="Delete the tag {name_space}.k"]'
    for key, left in (('Escape', 1), ('Enter', 0)):
        expect(tab.page.locator(delete)).to_be_visible()
        reach(delete)
        press('Enter')
        expect(tab.page.get_by_role('dialog')).to_be_visible()
        # The first button keeps it; the other one is the next.
        assert tab.page.evaluate('() => document.activeElement.textContent') == 'Keep it'
        if key == 'Enter':
            press('Tab')
        press(key)
        expect(tab.page.get_by_role('dialog')).to_have_count(0)
        expect(tab.page.locator(delete)).to_have_count(left)


LUMINANCE = """() => {
  const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => { for (; node; node = node.parentElement) { const c = getComputedStyle(node).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
  return [...document.querySelectorAll('h1, h2, p, a, th, td, label, legend, button, input, select, textarea, code')].filter((node) => node.offsetParent !== null)
    .map((node) => [light(getComputedStyle(node).color), light(ground(node)), node.outerHTML.slice(0, 80)]); }"""


def test_light_and_dark_are_readable_and_a_small_screen_is_enough(console, governed):
    governed.post('policy-attachments', **governed.on_column(governed.mask()))
    tab = console(viewport={'width': 360, 'height': 640}, reduced_motion='reduce')
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    grounds = {'light': set(), 'dark': set()}
    for place, title in [('#/catalog', 'Catalog lake'), (f'#/table?name={governed.schema}.t', 'Table t'), ('#/tags', 'Tags'), ('#/policies', 'Policies'),
                         ('#/grants', 'Roles and grants'), (f'#/see?table={governed.schema}.t&principal=ana', 'What would somebody see?'), ('#/audit', 'Audit trail')]:
        tab.open(place)
        tab.titled(title)
        # Nothing but what scrolls by itself is wider than the screen.
        assert tab.page.evaluate('() => document.documentElement.scrollWidth') <= 360, place
        for scheme, seen_grounds in grounds.items():
            tab.page.emulate_media(color_scheme=scheme)
            seen = tab.page.evaluate(LUMINANCE)
            low = [text for ink, ground, text in seen if (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) < 4.5]
            assert seen and not low, (place, scheme)
            seen_grounds |= {ground for _, ground, _ in seen}
    assert max(grounds['light']) > 0.9 and min(grounds['dark']) < 0.02


# The pictures of docs/lake/console.md are written anew with UPDATE_SCREENSHOTS=1.


@pytest.fixture
def shop(governed):
    """A lake as a reader knows one. What is made beside its schema is taken away again."""
    governed.duck.execute('DROP SCHEMA IF EXISTS lake.shop CASCADE')
    governed.duck.execute('CREATE SCHEMA lake.shop')
    governed.duck.execute('CREATE TABLE lake.shop.customers(id BIGINT, name VARCHAR, email VARCHAR, country VARCHAR)')
    governed.duck.execute("COMMENT ON COLUMN lake.shop.customers.email IS 'as given at the first order'")
    governed.duck.execute("INSERT INTO lake.shop.customers SELECT i, 'customer ' || i, 'c' || i || '@shop.example', ['de', 'fr', 'us'][1 + i % 3] FROM range(5000) r(i)")
    made = [('tags', {'namespace': 'shop_pii', 'name': 'contact'}, '/shop_pii/contact'),
            ('masking-policies', {'name': 'shop_hidden', 'signature': '(v VARCHAR)', 'body': "left(v, 1) || '***'", 'unmasked-roles': ['shop_support']}, '/shop_hidden'),
            ('row-access-policies', {'name': 'shop_eu', 'signature': '(country VARCHAR)', 'body': "country IN ('de', 'fr')"}, '/shop_eu'),
            ('role-grants', {'role': 'shop_support', 'principal': 'dana'}, None),
            ('policy-attachments', {'policy-kind': 'masking', 'policy-name': 'shop_hidden', 'target-kind': 'tag', 'tag-namespace': 'shop_pii', 'tag-name': 'contact'}, None),
            ('policy-attachments', {'policy-kind': 'row_access', 'policy-name': 'shop_eu', 'target-kind': 'table', 'schema': 'shop', 'object': 'customers'}, None),
            ('object-tags', {'object-kind': 'column', 'schema': 'shop', 'object': 'customers', 'column': 'email', 'tag-namespace': 'shop_pii', 'tag-name': 'contact'}, None)]
    for collection, body, _ in made:
        assert governed.send('POST', collection, body).status_code == 200
    yield
    for collection, body, path in reversed(made):
        assert governed.send('DELETE', collection + (path or ''), None if path else body).status_code == 200
    governed.duck.execute('DROP SCHEMA lake.shop CASCADE')


def test_the_pictures_of_the_documents_can_be_taken(console, shop, tmp_path):
    folder = ROOT / 'docs/lake/images' if os.environ.get('UPDATE_SCREENSHOTS') else tmp_path
    tab = console(viewport={'width': 1100, 'height': 900}, reduced_motion='reduce')
    tab.sign_in('admin')
    tab.titled('Catalog lake')
    for name, place, title in [('table', '#/table?name=shop.customers', 'Table customers'),
                               ('see', '#/see?table=shop.customers&principal=dashboard', 'What would somebody see?'),
                               ('rows', '#/see?table=shop.customers&principal=dashboard', 'What would somebody see?')]:
        tab.open(place)
        tab.titled(title)
        if name == 'rows':
            tab.page.get_by_role('button', name='Show ten rows').click()
            expect(tab.row('Its rows', 'customer').first).to_contain_text('c***')
            tab.page.get_by_role('heading', name='Some of its rows').evaluate('heading => heading.scrollIntoView()')
        tab.page.mouse.move(1, 1)
        for scheme in ('light', 'dark'):
            tab.page.emulate_media(color_scheme=scheme)
            file = folder / f'console-{name}-{scheme}.png'
            tab.page.screenshot(path=file, caret='hide', animations='disabled')
            assert 10_000 < file.stat().st_size < 150_000
            assert (ROOT / 'docs/lake/images' / file.name).stat().st_size < 150_000
