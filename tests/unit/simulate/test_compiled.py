import hashlib
from importlib.resources import files

import pytest

from caudal.simulate.compiled import built_from, is_compiled


@pytest.mark.skipif(not is_compiled(), reason="no C compiler built the engine")
def test_the_library_was_built_from_the_sources_beside_it() -> None:
    folder = files("caudal.simulate") / "engine"
    sources = sorted(folder.iterdir(), key=lambda path: path.name)
    expected = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]

    assert expected == built_from(), "install again: make setup"
