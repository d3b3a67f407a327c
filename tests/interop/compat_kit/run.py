"""Runs the Iceberg REST compatibility kit on a running lake and judges its reports.

usage: run.py [--record] [TEST...]
The lake is found by the variables of ./dev up. TEST is a method's name, with
* at will. --record prints the lines that expected_failures.txt should hold.
Exits with 1 on an unexpected failure, skip or pass; ends with "kit: N passed, N failed, N skipped ...".
"""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / 'devtools'))
sys.path.insert(0, str(HERE))

import judge  # noqa: E402
import purge  # noqa: E402
from lake_clients.lake import Lake  # noqa: E402

CLASSES = ('RESTCompatibilityKitCatalogTests', 'RESTCompatibilityKitViewCatalogTests')
REPORTS = HERE / 'target/reports'
LOG = HERE / 'target/kit.log'
# A healthy server needs about a minute; the kit's client retries each 5xx for half a minute.
LONGEST_SECONDS = 900


def kit_properties(lake):
    """Java system properties; the kit hands them to its REST client."""
    return {
        'rck.local': 'false',
        # A namespace is a schema of the lake: a table cannot be made before it.
        'rck.requires-namespace-create': 'true',
        # Tables lie under the lake's data path, wherever a client asks for them.
        'rck.overrides-requested-location': 'true',
        'rck.supports-names-with-dot': 'true',
        'uri': lake.uri,
        'warehouse': lake.warehouse,
        'io-impl': 'org.apache.iceberg.aws.s3.S3FileIO',
        's3.endpoint': lake.s3_endpoint,
        's3.path-style-access': 'true',
        's3.access-key-id': lake.s3_access_key,
        's3.secret-access-key': lake.s3_secret_key,
        'client.region': lake.s3_region,
    }


def run_kit(lake, tests):
    shutil.rmtree(REPORTS, ignore_errors=True)
    properties = ' '.join(f'-D{key}={value}' for key, value in kit_properties(lake).items())
    selected = ','.join(f'{c}#{t}' for t in tests for c in CLASSES) if tests else ','.join(CLASSES)
    command = ['mvn', '-B', '-q', 'surefire:test', f'-Dkit.properties={properties}',
               f'-Dkit.classes={selected}', f'-Dkit.reports={REPORTS}',
               f'-Dsurefire.timeout={LONGEST_SECONDS}']
    REPORTS.parent.mkdir(exist_ok=True)
    with open(LOG, 'w', encoding='utf-8') as log:
        done = subprocess.run(command, cwd=HERE, check=False, stdout=log, stderr=log)
    if done.returncode:
        sys.exit(f'the kit did not run to its end, see {LOG}')


def main():
    record = '--record' in sys.argv[1:]
    tests = [word for word in sys.argv[1:] if word != '--record']
    lake = Lake.from_environment()
    purge.purge(lake)
    run_kit(lake, tests)
    outcomes = judge.read_reports(REPORTS)
    if record:
        print('\n'.join(judge.as_expectations(outcomes)))
        return
    verdict = judge.judge(outcomes, judge.read_expectations(HERE / 'expected_failures.txt'),
                          whole_run=not tests)
    print('\n'.join(verdict.lines()))
    sys.exit(1 if verdict.faults else 0)


if __name__ == '__main__':
    # A short life: compiling it well would be most of it.
    os.environ.setdefault('MAVEN_OPTS', '-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC')
    main()
