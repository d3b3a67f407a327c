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
SIZE = 8192  # of a small manifest


def postgres_commit_ms(postgres):
    """The mean of one-row transactions, each flushed: pgbench's, over one connection."""
    return pgbench(postgres, 1)[0]


def postgres_commits_per_second(postgres, connections):
    """The same over several connections, which share flushes."""
    return pgbench(postgres, connections)[1]


def pgbench(postgres, connections):
    with tempfile.NamedTemporaryFile('w', suffix='.sql') as script:
        script.write('INSERT INTO bench_floor VALUES (1);\n')
        script.flush()
        postgres.query(DATABASE, 'CREATE TABLE bench_floor (n bigint)')
        command = [BINARIES / 'pgbench', '-n', '-c', str(connections), '-t', str(ROUNDS), '-f', script.name]
        told = subprocess.run(command, env=postgres.environment(), text=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    postgres.query(DATABASE, 'DROP TABLE bench_floor')
    return (float(re.search(r'latency average = ([\d.]+) ms', told)[1]),
            float(re.search(r'tps = ([\d.]+)', told)[1]))


def store_client(lake):
    return Minio(lake.s3_endpoint.removeprefix('http://'), lake.s3_access_key, lake.s3_secret_key, secure=False)


def store_put_ms(lake):
    """The median of putting 8 KiB, the size of a small manifest."""
    client = store_client(lake)
    body, times = b'm' * SIZE, []
    for number in range(ROUNDS):
        began = time.perf_counter()
        client.put_object(lake.s3_bucket, f'bench-floor/{number}', io.BytesIO(body), len(body))
        times.append((time.perf_counter() - began) * 1000)
    for number in range(ROUNDS):
        client.remove_object(lake.s3_bucket, f'bench-floor/{number}')
    return statistics.median(times)
