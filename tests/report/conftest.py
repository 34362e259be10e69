"""What tests of reports share: the problem that most of them show."""

import pytest

import rpsr


@pytest.fixture(scope="session")
def loadunload():
    """The paper's load/unload."""
    return rpsr.load_pomdp("loadunload")
