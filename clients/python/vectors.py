"""Makes the test vectors of docs/wire-3.0.md: python vectors.py FOLDER

Every file is {"about", "section", "cases": [{"name", ...}]}; bytes are
hexadecimal unless a member's name says otherwise. The same call makes the same
bytes, but for the RSA key of the tokens, which is kept when it is there.
"""

import json
import pathlib
import random
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from scp import check_receipt, keys, receipts
from scp.canonical import canonical, parse
from holder_vectors import holder_cases
from node_vectors import proof_cases
from token_vectors import token_cases

CHANCE = random.Random('scp 3.0')


def some(count):
    return CHANCE.randbytes(count)


CANONICAL = {
    'empty object': '{}', 'empty array': '[]', 'literals': '[true,false,null]', 'blanks': ' { "a" : [ 1 , 2 ] } \n',
    'members sorted': '{"b":1,"a":2,"A":3,"_":4}', 'nested members sorted': '{"z":{"y":1,"x":2},"a":[{"d":1,"c":2}]}',
    'UTF-16 order puts a surrogate pair before U+FB33': '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u20ac":3,"\\r":4,"1":5,"\\u0080":6,"\\u00f6":7}',
    'empty name': '{"":0,"a":1}', 'control characters': '"\\u0000\\u0001\\u001f\\b\\t\\n\\f\\r"', 'quote and backslash': '"\\"\\\\\\/"',
    'escapes of printable characters': '"\\u0041\\u00e9\\u20ac"', 'DEL stays': '"\\u007f"', 'line separators stay': '"\\u2028\\u2029"',
    'pair as one character': '"\\ud834\\udd1e"', 'UTF-8 stays': '"grüße 日本"', 'zero': '0', 'minus zero': '-0', 'minus zero as a double': '-0.0',
    'one as a double': '1.0', 'integer with exponent': '1e3', 'largest integer': '9007199254740991', 'least integer': '-9007199254740991',
    'a tenth': '0.1', 'a third': '0.3333333333333333', 'rounded to the nearest': '333333333.33333329', 'large with exponent': '1E30',
    'trailing zeros': '4.50', 'small': '2e-3', 'small with exponent': '0.000000000000000000000000001', 'last without exponent': '1e20',
    'first with exponent': '1e21', 'least fixed': '0.000001', 'first small exponent': '0.0000001', 'least double': '5e-324',
    'largest double': '1.7976931348623157e308', 'negative': '-12.75', 'twenty digits': '123456789012345680000.0',
    'deep at the limit': '[' * 64 + ']' * 64, 'same name in two objects': '[{"a":1},{"a":2}]', 'long text': '"' + 'x' * 300 + '"',
}
REFUSED = {
    'nothing': b'', 'blank': b' ', 'two values': b'1 2', 'name twice': b'{"a":1,"a":2}', 'name twice by an escape': b'{"a":1,"\\u0061":2}',
    'name twice, deep': b'[{"x":{"a":1,"b":2,"a":3}}]', 'not UTF-8': b'"\xff"', 'overlong UTF-8': b'"\xc0\xaf"', 'surrogate in UTF-8': b'"\xed\xa0\x80"',
    'cut UTF-8': b'"\xe2\x82"', 'lone high surrogate': b'"\\ud800"', 'lone low surrogate': b'"\\udc00"', 'surrogates swapped': b'"\\udc00\\ud800"',
    'integer beyond': b'9007199254740992', 'integer below': b'-9007199254740992', 'NaN': b'NaN', 'Infinity': b'Infinity', 'out of range': b'1e400',
    'one level too deep': b'[' * 65 + b']' * 65, 'trailing comma': b'[1,]', 'comment': b'[1]//x', 'single quotes': b"{'a':1}", 'leading zero': b'01',
    'leading plus': b'+1', 'bare point': b'.5', 'point without digits': b'1.', 'control character in a text': b'"\n"', 'byte order mark': b'\xef\xbb\xbf{}',
    'unclosed': b'{"a":1', 'unknown escape': b'"\\x41"', 'hexadecimal': b'0x10',
}


def canonical_cases():
    for name, text in CANONICAL.items():
        yield {'name': name, 'input': text.encode().hex(), 'canonical': canonical(parse(text)).hex()}
    for name, data in REFUSED.items():
        try:
            parse(data)
        except (ValueError, RecursionError):
            yield {'name': name, 'input': data.hex(), 'refused': 'E_PARSE'}
        else:
            raise AssertionError(name)


def key_cases():
    for index in range(24):
        hello, welcome0 = some(40 + 9 * index), some(60 + 7 * index)
        binding = b'' if index % 3 == 0 else some(32)
        dh = b'' if index % 2 == 0 else some(32)
        secret = b'' if index % 5 == 4 else some(16).hex().encode()
        salt = b'' if index % 7 == 6 else some(12).hex().encode()
        api_key, auth0, ready0 = some(16).hex(), some(50 + index), some(70 + index)
        psk, th1 = keys.make_psk(secret, salt), keys.th1(hello, welcome0, binding)
        epoch0 = keys.schedule(th1, dh, psk)
        th_auth = keys.th_auth(th1, auth0)
        th2 = keys.th2(th_auth, ready0)
        eph_c, eph_s, dh2, epoch = some(32), some(65 if index % 2 else 32), some(32), 1 + index * 1000
        th_r = keys.th_r(th2, epoch, eph_c, eph_s)
        yield {'name': f'schedule {index}', 'hello': hello.hex(), 'welcome0': welcome0.hex(), 'binding': binding.hex(),
               'secret': secret.decode(), 'kdf_salt': salt.decode(), 'dh': dh.hex(), 'api_key': api_key, 'auth0': auth0.hex(),
               'ready0': ready0.hex(), 'psk': psk.hex(), 'th1': th1.hex(),
               'keys': {label: value.hex() for label, value in epoch0.items()}, 'proof': keys.proof(psk, th1).hex(),
               'api_key_credential': keys.api_key_credential(api_key, th1), 'th_auth': th_auth.hex(),
               'confirm_c': keys.hmac(epoch0['confirm c'], th_auth).hex(), 'th2': th2.hex(),
               'confirm_s': keys.hmac(epoch0['confirm s'], th2).hex(), 'epoch': epoch, 'eph_c': eph_c.hex(), 'eph_s': eph_s.hex(),
               'dh2': dh2.hex(), 'th_r': th_r.hex(),
               'next_keys': {label: value.hex() for label, value in keys.schedule(th_r, dh2, epoch0['export']).items()}}


PAYLOADS = [{}, {'tool': 'sql.query', 'args': {'sql': 'SELECT 1'}}, {'b': [1, 2.5, None], 'a': {'é': '日本'}}, {'x': 'y' * 256}, {'n': -0.0, 'm': 1e21}]
KEYED = [{'tool': 'files.write', 'args': {'path': 'a.txt'}, 'idem': 'pay-2026-0042'}, {'content': [], 'repeats': f'01J{"0" * 23}'}]


def signature_cases():
    for index in range(22):
        # Cases that came later draw for themselves, so that those of other files stay.
        draw = some if index < 20 else random.Random(f'keyed {index}').randbytes
        envelope = {'v': '3.0', 't': ['req', 'res', 'evt', 'cancel'][index % 4], 'id': f'01J{"0" * 21}{index:02d}', 'op': 'tool.invoke',
                    'ts': 1795251600000 + index, 'n': keys.b64(draw(16)), 'aud': 'node-b', 'p': PAYLOADS[index % 5] if index < 20 else KEYED[index - 20]}
        if index % 3 == 0:
            envelope['meta'] = {'deadline_ms': 30000, 'traceparent': f'00-{draw(16).hex()}-{draw(8).hex()}-01'}
        if index % 6 == 5:
            envelope['unknown'] = ['kept', {'and': 'signed'}]
        key, transcript = draw(32), draw(32)
        value = keys.signature(key, transcript, canonical(envelope))
        yield {'name': f'signed {index}', 'key': key.hex(), 'transcript': transcript.hex(),
               'message': json.dumps(envelope, ensure_ascii=index % 2 == 0), 'canonical': canonical(envelope).hex(), 'v': keys.b64(value)}


def record_cases():
    for index in range(30):
        suite = [name for name in keys.SUITES if name != 'NONE'][index % 3]
        schedule, binding = keys.schedule(some(32), some(32), some(32)), some(32)
        direction, epoch = ['c2s', 's2c'][index % 2], [0, 1, 65535][index % 3]
        record = keys.Records(suite, schedule, direction, binding, epoch)
        record.counter = [0, 1, 255, 65536, 2**32, 2**53][index % 6]
        plaintext = some([0, 1, 256, 1000][index % 4])
        counter = record.counter
        case = {'name': f'record {index}', 'suite': suite, 'key': schedule[direction + ' key'].hex(), 'iv': schedule[direction + ' iv'].hex(),
                'binding': binding.hex(), 'epoch': epoch, 'counter': counter, 'plaintext': plaintext.hex()}
        sealed = bytearray(record.seal(plaintext))
        yield {**case, 'record': sealed.hex()}
        fault, code = [('tag', 'E_SIG'), ('counter', 'E_REPLAY'), ('epoch', 'E_REPLAY'), ('type', 'E_PARSE'), ('short', 'E_PARSE')][index % 5]
        place = {'tag': -1, 'counter': 11, 'epoch': 3, 'type': 1, 'short': 0}[fault]
        sealed[place] ^= 1
        yield {**case, 'name': f'record {index}, {fault}', 'record': sealed[:27].hex() if fault == 'short' else sealed.hex(), 'refused': code}


def replay_cases():
    """Each case is one cache: steps are (now, ts, session, nonce) and what must be answered."""
    start, window = 1_795_251_600_000, 60_000
    fixed = {
        'same message twice': [(0, 0, 's', 1, 'ok'), (0, 0, 's', 1, 'E_REPLAY')],
        'same nonce, other session': [(0, 0, 's', 1, 'ok'), (0, 0, 't', 1, 'ok')],
        'same nonce, later time': [(0, 0, 's', 1, 'ok'), (100, 100, 's', 1, 'E_REPLAY')],
        'oldest that is fresh': [(60_000, 0, 's', 1, 'ok')], 'just too old': [(60_001, 0, 's', 1, 'E_STALE')],
        'newest that is fresh': [(0, 60_000, 's', 1, 'ok')], 'just too new': [(0, 60_001, 's', 1, 'E_STALE')],
        'refused is not remembered': [(60_001, 0, 's', 1, 'E_STALE'), (60_001, 60_001, 's', 1, 'ok')],
        'again at the end of the window': [(0, 0, 's', 1, 'ok'), (60_000, 0, 's', 1, 'E_REPLAY')],
        'from ahead, again as late as it is fresh': [(0, 60_000, 's', 1, 'ok'), (120_000, 60_000, 's', 1, 'E_REPLAY')],
        'out of order': [(500, 500, 's', 1, 'ok'), (500, 400, 's', 2, 'ok'), (500, 450, 's', 3, 'ok'), (501, 400, 's', 2, 'E_REPLAY')],
    }
    for name, steps in fixed.items():
        yield {'name': name, 'window_ms': window,
               'steps': [{'now': start + now, 'ts': start + ts, 'session': session, 'nonce': nonce.to_bytes(16, 'big').hex(), 'answer': answer}
                         for now, ts, session, nonce, answer in steps]}


def receipt_cases():
    """By the shared secret and by a key pair; each whole, and with one thing changed."""
    private = ed25519.Ed25519PrivateKey.from_private_bytes(some(32))
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for index in range(8):
        secret = some(24).hex()
        receipt = {'hash': some(32).hex(), 'node': ['node-b', 'n.1'][index % 2], 'seq': [1, 4711, 2**40, 2**53 - 1][index % 4]}
        text = receipts.receipt_text(receipt)
        by_secret = {'kid': 'secret', 'v': keys.b64(keys.hmac(receipts.checkpoint_key(secret), text))}
        by_pair = {'kid': receipts.thumbprint(private.public_key()), 'v': keys.b64(private.sign(text))}
        given = {'secret': secret} if index < 4 else {'public_key': pem.decode()}
        whole = {**receipt, 'sig': by_secret if index < 4 else by_pair}
        other = {**whole, **[{'seq': whole['seq'] - 1}, {'node': 'node-c'}, {'hash': 'f' * 64}, {'sig': {**whole['sig'], 'kid': 'x'}}][index % 4]}
        for name, one, holds in [('whole', whole, True), ('changed', other, False)]:
            checked = {**given, 'public_key': pem} if 'public_key' in given else given
            assert check_receipt(one, **checked) == holds, name
            yield {'name': f'receipt {index}, {name}', **given, 'receipt': one, 'holds': holds}


FILES = {
    'canonical': ('2', 'JSON texts and their canonical form, or the refusal', canonical_cases),
    'key_schedule': ('4.5 to 4.9, 7.1', 'transcripts, keys, proofs and confirmations', key_cases),
    'signatures': ('3.1', 'signatures of envelopes', signature_cases),
    'records': ('7', 'encrypted records, whole and broken', record_cases),
    'replay': ('8', 'decisions of the replay window', replay_cases),
    'receipts': ('16.6', 'signatures of receipts', receipt_cases),
    'proofs': ('4.7', 'proofs of servers: what clients answer, and what servers choose', proof_cases),
    'holders': ('4.11 and 6.6', 'proofs of possession, and the tokens that they are for', lambda: holder_cases(some)),
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for name, (section, about, cases) in FILES.items():
        total += write(folder / f'{name}.json', section, about, list(cases()))
    total += write(folder / 'tokens.json', '6', 'tokens, and what a verifier with these rules answers', list(token_cases(folder)))
    print(f'{total} cases')


def write(file, section, about, cases):
    names = [case['name'] for case in cases]
    assert len(set(names)) == len(names), file
    file.write_text(json.dumps({'about': about, 'section': section, 'cases': cases}, indent=1, ensure_ascii=True) + '\n')
    return len(cases)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
