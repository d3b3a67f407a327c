"""A file server that compares names as texts, before it follows links: disk.py FOLDER."""
import pathlib
import sys

from common import serve


def read(path: str):
    """Reads a file."""
    if not path.startswith(sys.argv[1]):
        raise PermissionError('outside of the folder')
    return pathlib.Path(path).read_text()


serve(read)
