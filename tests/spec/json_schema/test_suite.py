"""The official JSON Schema tests of draft 2020-12 against the schemas of tools. What is not passed stands in expected_failures.txt with its reason;
the list may only shrink."""
import json
import pathlib
import subprocess
from urllib.parse import urljoin

import jsonschema
import pytest
from jsonschema_specifications import REGISTRY

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITE = ROOT / '.dev/tools/json-schema-suite/draft2020-12'
CHECKER = ROOT / 'build/dev/schema_checker'
LIST = pathlib.Path(__file__).with_name('expected_failures.txt')


def groups():
    """Every required group of the suite: (file, description, schema, tests)."""
    for file in sorted(SUITE.glob('*.json')):
        for group in json.loads(file.read_text()):
            yield file.stem, group['description'], group['schema'], group['tests']


def named(name):
    return next(tests for file, description, _, tests in groups() if f'{file}: {description}' == name)


def ask(questions):
    """What the checker answers to each (schema, values)."""
    lines = [json.dumps({'schema': schema, 'values': values}) for schema, values in questions]
    done = subprocess.run([CHECKER], input='\n'.join(lines) + '\n', capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope='module')
def results():
    """For each group why it was refused, the names of the tests that went wrong, or nothing."""
    found = list(groups())
    answers = ask((schema, [test['data'] for test in tests]) for _, _, schema, tests in found)
    assert len(answers) == len(found) > 250
    out = {}
    for (file, description, _, tests), answer in zip(found, answers, strict=True):
        wrong = answer.get('refused') or [test['description'] for test, valid in zip(tests, answer['valid'], strict=True) if valid != test['valid']]
        assert f'{file}: {description}' not in out
        out[f'{file}: {description}'] = wrong
    return out


def expected():
    """{'file: description': reason}."""
    entries = {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith('#'):
            name, _, reason = line.partition(' | ')
            assert reason, f'{line}: without a reason'
            entries[name] = reason
    return entries


def test_the_suite_passes_but_for_what_is_listed(results):
    listed = expected()
    wrong = {name: why for name, why in results.items() if why and name not in listed}
    assert wrong == {}


def test_what_is_listed_fails(results):
    """A group that passes although it is listed is taken off the list."""
    passing = [name for name in expected() if not results[name]]
    assert passing == []


def test_no_value_is_let_through_by_mistake(results):
    """Also where the list says that a group fails: a schema that is not understood is refused as a whole, and a value rather than taken."""
    misjudged = [name for name, why in results.items() if isinstance(why, list) and why]
    let_through = [name for name in misjudged for test in named(name) if not test['valid'] and test['description'] in results[name]]
    assert let_through == []


METASCHEMA = 'https://json-schema.org/draft/2020-12/schema'
VALUES = [None, True, 0, 1, -1, 1.0, 1.5, 'a', 'a b', 'string', '#', 'a#', 'a#b', '', [], [1], ['a'], ['a', 'a'], ['null', 'string'], [{}, True], [{'type': 1}],
          {}, {'a': 1}, {'a': True}, {'a': {}}, {'a': ['b']}, {'a': ['b', 'b']}, {'a': {'type': 'text'}}, {'a': {'allOf': []}}]


def keywords():
    """Every name that the official meta-schema has, of all its vocabularies."""
    whole = REGISTRY.contents(METASCHEMA)
    parts = [REGISTRY.contents(urljoin(METASCHEMA, part['$ref'])) for part in whole['allOf']]
    return sorted({name for part in [whole, *parts] for name in part['properties']}) + ['none']


def test_the_metaschema_judges_as_the_official_one_does():
    """Each keyword with values of every kind, on the outside and one level within, and the schemas of the suite."""
    official = jsonschema.Draft202012Validator(REGISTRY.contents(METASCHEMA))
    schemas = [{name: value} for name in keywords() for value in VALUES] + VALUES
    schemas += [{'properties': {'p': schema}} for schema in schemas]
    schemas += [schema for _, _, schema, _ in groups()]
    assert len(schemas) > 3000
    judged = ask([({'$ref': METASCHEMA}, [schema]) for schema in schemas])
    other = [(schema, answer) for schema, answer in zip(schemas, judged, strict=True)
             if answer != {'valid': [official.is_valid(schema)]}]
    assert other == []
