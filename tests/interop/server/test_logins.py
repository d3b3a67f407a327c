"""The stack's PostgreSQL lets nobody in without a password, as one in production: tests of logins would prove nothing else."""
import subprocess

import pytest

from stack.postgres import BINARIES


def login(postgres, host, password):
    return subprocess.run([BINARIES / 'psql', '-w', '-qtAX', '-h', host, '-c', 'SELECT 1'], text=True, capture_output=True,
                          env={**postgres.environment(), 'PGPASSWORD': password}, check=False)


@pytest.mark.parametrize('password', ['', 'wrong'])
@pytest.mark.parametrize('by_socket', [True, False], ids=['socket', 'tcp'])
def test_a_login_needs_the_password(stack, by_socket, password):
    host = str(stack.postgres.socket_folder) if by_socket else '127.0.0.1'
    assert login(stack.postgres, host, stack.postgres.password).stdout == '1\n'
    refused = login(stack.postgres, host, password)
    assert refused.returncode == 2 and 'password' in refused.stderr, refused


def test_passwords_are_stored_for_scram(stack):
    """One stored for md5 could not be sent to a server that asks for SCRAM alone."""
    assert stack.postgres.query('postgres', "SELECT rolpassword FROM pg_authid WHERE rolname = 'lake'").startswith('SCRAM-SHA-256$')
    methods = stack.postgres.query('postgres', 'SELECT DISTINCT auth_method FROM pg_hba_file_rules')
    assert methods.split() == ['scram-sha-256']
