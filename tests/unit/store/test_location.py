from pathlib import Path

import pytest

from caudal.store.location import (
    DatabaseUnavailableError,
    InvalidDatabaseError,
    data_folder,
    database_location,
)
from caudal.store.quick import quick_rows
from caudal.store.sessions import writing


def test_without_a_name_it_is_the_users_own_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAUDAL_DATABASE_URL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")

    found = database_location()

    assert Path("/data/caudal/caudal.sqlite3") == found.path
    assert not found.named
    assert not found.may_hold_offers


def test_the_environment_names_one_and_an_option_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_DATABASE_URL", "/from/environment.db")

    assert Path("/from/environment.db") == database_location().path
    assert Path("/from/option.db") == database_location("/from/option.db").path


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite:///b.db", str(Path("b.db").absolute())),
        ("b.db", str(Path("b.db").absolute())),
    ],
)
def test_a_file_is_written_as_url_or_path(written: str, path: str) -> None:
    found = database_location(written)

    assert path == str(found.path)
    assert found.named
    assert path == found.shown


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_is_never_shown_with_its_password(scheme: str) -> None:
    found = database_location(f"{scheme}://ann:s3cret@db.example:5433/offers?sslmode=require")

    assert found.url.startswith("postgresql+psycopg://ann:s3cret@")
    assert "postgresql://ann@db.example:5433/offers" == found.shown
    assert found.may_hold_offers


@pytest.mark.parametrize("written", ["mysql://x/y", "sqlite://", "sqlite:///"])
def test_other_databases_are_refused(written: str) -> None:
    with pytest.raises(InvalidDatabaseError):
        database_location(written)


@pytest.mark.parametrize(
    ("platform", "end"),
    [("darwin", "Library/Application Support/caudal"), ("linux", ".local/share/caudal")],
)
def test_each_system_has_its_folder(
    platform: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("sys.platform", platform)

    assert str(data_folder()).endswith(end)


def test_a_named_file_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    location = database_location(str(tmp_path / "none.db"))

    with pytest.raises(DatabaseUnavailableError, match="no such file"):
        quick_rows(location, "SELECT 1")


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database, but long enough to be looked at" * 20)
    location = database_location(str(tmp_path / "x.db"))

    with pytest.raises(DatabaseUnavailableError, match="cannot be read"):
        quick_rows(location, "SELECT name FROM sqlite_master")
    with pytest.raises(DatabaseUnavailableError, match="refused"), writing(location):
        pass


def test_a_database_without_tables_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()

    assert [] == quick_rows(database_location(str(tmp_path / "x.db")), "SELECT * FROM offer_page")


def test_a_server_that_does_not_answer_is_unavailable_and_keeps_its_password(
    tmp_path: Path,
) -> None:
    location = database_location(f"postgresql://ann:s3cret@/offers?host={tmp_path}")

    with pytest.raises(DatabaseUnavailableError) as quick:
        quick_rows(location, "SELECT 1")
    with pytest.raises(DatabaseUnavailableError) as full, writing(location):
        pass

    assert "s3cret" not in quick.value.problem + full.value.problem


def test_a_transaction_that_fails_is_undone(tmp_path: Path) -> None:
    from sqlalchemy import text  # noqa: PLC0415

    location = database_location(str(tmp_path / "x.db"))
    insert = text(
        "INSERT INTO offer_source (name, title, licence, fresh_days, stale_days, problem,"
        " limits_by_user) VALUES ('a', 'A', '', 1, 2, '', 0)"
    )

    def fail() -> None:
        with writing(location) as session:
            session.execute(insert)
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()

    assert [] == quick_rows(location, "SELECT * FROM offer_source")
