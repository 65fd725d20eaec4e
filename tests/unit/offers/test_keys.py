import pickle
from pathlib import Path

import pytest

from caudal.offers.sources.keys import Key, UnsafeKeysError, find_setting

SECRET = "k-5f2a"  # noqa: S105 - invented


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "keys.toml"
    path.write_text(f'VAST_API_KEY = "{SECRET}"\n', encoding="utf-8")
    path.chmod(0o600)
    monkeypatch.setenv("CAUDAL_KEYS_FILE", str(path))
    monkeypatch.delenv("VAST_API_KEY", raising=False)
    return path


def test_the_environment_goes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_file = find_setting("VAST_API_KEY")
    monkeypatch.setenv("VAST_API_KEY", "other")
    told = find_setting("VAST_API_KEY")

    assert in_file is not None
    assert told is not None
    assert (SECRET, "other") == (in_file.reveal(), told.reveal())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)

    with pytest.raises(UnsafeKeysError, match=f"{mode:04o}"):
        find_setting("VAST_API_KEY")


@pytest.mark.parametrize("text", [f"VAST_API_KEY = {SECRET}", "VAST_API_KEY = 3", "\xff"])
def test_a_broken_file_is_refused_without_showing_a_key(file: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1"))

    with pytest.raises(UnsafeKeysError) as caught:
        find_setting("VAST_API_KEY")

    assert SECRET not in caught.value.problem + caught.value.remedy
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)


def test_without_a_file_nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAUDAL_KEYS_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("VAST_API_KEY", raising=False)

    assert find_setting("VAST_API_KEY") is None


def test_a_key_shows_itself_to_nobody() -> None:
    key = Key(SECRET)

    assert SECRET not in f"{key} {key!r} {[key]} {vars.__name__}"
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(key)
