"""Databases of both kinds, each fresh for its test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caudal.store.location import DatabaseLocation, database_location
from postgres_server import Server, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "deep" / "offers.sqlite3")
    server = request.getfixturevalue("postgres")
    assert isinstance(server, Server)
    return server.new_database()


@pytest.fixture
def location(database_url: str) -> DatabaseLocation:
    return database_location(database_url)


@pytest.fixture
def quotes(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a quote sheet: one price an instance."""

    def write(prices: dict[str, str], *, day: str = "2026-11-01", name: str = "q.csv") -> Path:
        lines = ["provider,instance,gpu,gpus,term,price,region,country,observed_on"]
        lines += [f"Acme,{i},L40S,1,hourly,{p},fra-1,DE,{day}" for i, p in prices.items()]
        path = tmp_path / name
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write
