"""Where tests find what they share: in tests/ (faults, oracle), in tests/interop/, and the lakes of examples/."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

sys.path[1:1] = [str(HERE), str(HERE / 'interop'), str(HERE.parent / 'examples')]

from lake_clients import duck  # noqa: E402

duck.THREADS = 1  # Who needs more, such as test_many_writers.py, says so.
