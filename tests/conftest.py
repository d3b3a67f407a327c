"""Where tests find what they share: in tests/ (faults, oracle) and in tests/interop/."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

sys.path[1:1] = [str(HERE), str(HERE / 'interop')]
