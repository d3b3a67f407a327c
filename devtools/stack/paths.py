"""Where things of this checkout lie."""
import hashlib
import os
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEV = ROOT / '.dev'
TOOLS = DEV / 'tools'
ENGINE = TOOLS / 'duckdb-1.5.5'
JARS = TOOLS / 'jars'
TRINO = TOOLS / 'trino-476'
DEFAULT_STACK = 'default'


def stack_folder(name):
    return DEV / 'stacks' / name


def env_file(name):
    """The default stack's variables stand where every program looks first."""
    return DEV / 'env' if name == DEFAULT_STACK else stack_folder(name) / 'env'


def short_folder(name):
    """A folder with a short path: a Unix socket's path holds some 100 bytes only."""
    digest = hashlib.sha256(str(stack_folder(name)).encode()).hexdigest()[:10]
    return pathlib.Path(tempfile.gettempdir()) / f'lake-{os.getuid()}-{digest}'
