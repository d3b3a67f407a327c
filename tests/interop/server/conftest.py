import dataclasses

import pytest

from by_hand import Watched
from direct_logins import Kept, fill


@pytest.fixture(scope='module')
def kept(stack, lake, tmp_path_factory):
    made = Kept(stack, lake, tmp_path_factory.mktemp('kept'))
    with Watched.beside(stack, **made.settings) as made.server:
        made.lake = dataclasses.replace(made.lake, uri=made.server.uri())
        fill(made)
        yield made


@pytest.fixture(scope='module')
def bob(kept):
    return kept.vend('bob')


@pytest.fixture(scope='module')
def admin(kept):
    return kept.vend('admin')
