"""The parts of `./dev bench tools`. Each has measure(bench), which gives figures as JSON has them, show(found), and targets(found)."""
import dataclasses
import json
import pathlib

from tool_stack.authority import Authority

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXT = 'x' * 256
ECHO = ['--tool', 'echo.say', '--args', json.dumps({'text': TEXT})]
IN_FLIGHT = 64


@dataclasses.dataclass(frozen=True)
class Bench:
    folder: pathlib.Path
    authority: Authority
    quick: bool

    @property
    def rounds(self):
        return 3 if self.quick else 9

    def count(self, whole):
        """So many of something."""
        return whole // 10 if self.quick else whole

    def place(self, name):
        """A folder of one service."""
        place = self.folder / name
        place.mkdir(parents=True)
        return place
