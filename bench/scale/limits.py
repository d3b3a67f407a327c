"""What PostgreSQL and the store need for the least that a commit can be: the floor under every figure."""
import io
import re
import statistics
import subprocess
import tempfile
import time

from minio import Minio

from stack.postgres import BINARIES, DATABASE

ROUNDS = 200


def postgres_commit_ms(postgres):
    """The mean of one-row transactions, each flushed: pgbench's, over one connection."""
    with tempfile.NamedTemporaryFile('w', suffix='.sql') as script:
        script.write('INSERT INTO bench_floor VALUES (1);\n')
        script.flush()
        postgres.query(DATABASE, 'CREATE TABLE bench_floor (n bigint)')
        told = subprocess.run([BINARIES / 'pgbench', '-n', '-c', '1', '-t', str(ROUNDS), '-f', script.name, postgres.dsn()],
                              text=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    postgres.query(DATABASE, 'DROP TABLE bench_floor')
    return float(re.search(r'latency average = ([\d.]+) ms', told)[1])


def store_put_ms(lake):
    """The median of putting 8 KiB, the size of a small manifest."""
    client = Minio(lake.s3_endpoint.removeprefix('http://'), lake.s3_access_key, lake.s3_secret_key, secure=False)
    body, times = b'm' * 8192, []
    for number in range(ROUNDS):
        began = time.perf_counter()
        client.put_object(lake.s3_bucket, f'bench-floor/{number}', io.BytesIO(body), len(body))
        times.append((time.perf_counter() - began) * 1000)
    for number in range(ROUNDS):
        client.remove_object(lake.s3_bucket, f'bench-floor/{number}')
    return statistics.median(times)
