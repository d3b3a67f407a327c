"""A real S3 store on loopback, with one bucket."""
import os
import shutil
import subprocess
import urllib.error
import urllib.request

from minio import Minio

from stack import paths, process

REGION = 'us-east-1'
BUCKET = 'lakehouse'


class ObjectStore:
    """With a `domain` each bucket is also a host below it."""
    name = 'S3 store'

    def __init__(self, folder, port, access_key, secret_key, domain=None):
        self.data = folder / 's3'
        self.log = folder / 's3.log'
        self.port = port
        self.access_key = access_key
        self.secret_key = secret_key
        self.domain = domain

    def start(self):
        self.data.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, MINIO_ROOT_USER=self.access_key, MINIO_ROOT_PASSWORD=self.secret_key,
                   MINIO_BROWSER='off', MINIO_UPDATE='off', MINIO_REGION=REGION,
                   **({'MINIO_DOMAIN': self.domain} if self.domain else {}))
        command = [paths.TOOLS / 'minio', 'server', '--address', f'127.0.0.1:{self.port}', '--quiet',
                   *self.options(), self.data]
        server = process.start(command, self.log, env)
        process.wait_ready(self.name, server, self.log, self.ready, 30)
        self.make_bucket()
        return server

    def options(self):
        """Further ones of the program."""
        return []

    def stop(self, server, kill=False):
        server.stop(*([process.signal.SIGKILL] if kill else []))

    def ready(self):
        return answers(f'{self.endpoint()}/minio/health/ready')

    def client(self):
        return Minio(f'127.0.0.1:{self.port}', access_key=self.access_key,
                     secret_key=self.secret_key, secure=False, region=REGION)

    def make_bucket(self):
        if not self.client().bucket_exists(bucket_name=BUCKET):
            self.client().make_bucket(bucket_name=BUCKET)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)

    def endpoint(self):
        return f'http://127.0.0.1:{self.port}'


class PlainStore(ObjectStore):
    """A store without STS that has users with keys and bucket policies for them: VersityGW."""
    name = 'S3 store without STS'

    def start(self):
        for folder in (self.data, self.users()):
            folder.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, ROOT_ACCESS_KEY=self.access_key, ROOT_SECRET_KEY=self.secret_key)
        command = [paths.TOOLS / 'versitygw', '--port', f'127.0.0.1:{self.port}', '--region', REGION,
                   '--health', '/health', '--iam-dir', self.users(),
                   *(['--virtual-domain', self.domain] if self.domain else []), 'posix', self.data]
        server = process.start(command, self.log, env)
        process.wait_ready(self.name, server, self.log, self.ready, 30)
        self.make_bucket()
        return server

    def users(self):
        return self.data.parent / 's3-users'

    def ready(self):
        return answers(f'{self.endpoint()}/health')

    def make_user(self, access_key, secret_key):
        """Somebody with keys and no rights: bucket policies give them."""
        env = dict(os.environ, ADMIN_ACCESS_KEY=self.access_key, ADMIN_SECRET_KEY=self.secret_key,
                   ADMIN_ENDPOINT_URL=self.endpoint(), ADMIN_REGION=REGION)
        subprocess.run([paths.TOOLS / 'versitygw', 'admin', 'create-user', '--access', access_key,
                        '--secret', secret_key, '--role', 'user'], env=env, check=True, capture_output=True)

    def wipe(self):
        super().wipe()
        shutil.rmtree(self.users(), ignore_errors=True)


def answers(url, trust=None):
    """Whether `url` answers with a 2xx status; `trust` is the TLS context."""
    try:
        with urllib.request.urlopen(url, timeout=2, context=trust) as response:
            return 200 <= response.status < 300
    except (urllib.error.URLError, OSError):
        return False
