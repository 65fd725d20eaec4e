"""Live sources against a server of our own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from caudal.offers.known import import_facts
from caudal.offers.refreshing import RefreshReport, refresh
from caudal.offers.sources.gpuhunt import live_catalogue
from caudal.offers.sources.keys import MissingKeyError
from caudal.offers.sources.live import LIVE_SOURCES, ask
from caudal.offers.sources.transport import Request, SourceUnavailableError, fetch
from caudal.offers.stored import stored_parts
from caudal.store.location import DatabaseLocation, database_location
from caudal.vocabulary.errors import UnavailableError
from caudal.vocabulary.units import Seconds
from offer_server import OfferHandler, offer_server

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEY = "k-8c1d"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    with offer_server() as address:
        for name in ("VASTAI", "RUNPOD", "SHADEFORM"):
            monkeypatch.setenv(f"CAUDAL_{name}_URL", f"{address}/{name.lower()}.json")
        for variable in ("VAST_API_KEY", "RUNPOD_API_KEY", "SHADEFORM_API_KEY", "DSTACK_TOKEN"):
            monkeypatch.setenv(variable, KEY)
        monkeypatch.setenv("DSTACK_SERVER_URL", address)
        monkeypatch.setenv("DSTACK_PROJECT", "main/../x")
        monkeypatch.setenv("CAUDAL_KEYS_FILE", str(tmp_path / "none"))
        yield address


@pytest.fixture
def own(tmp_path: Path) -> DatabaseLocation:
    return database_location(str(tmp_path / "offers.sqlite3"))


def asked(own: DatabaseLocation, *names: str, timeout: float = 20) -> list[RefreshReport]:
    heard: list[RefreshReport] = []
    reports = refresh(
        [LIVE_SOURCES[name] for name in names],
        location=own,
        facts=import_facts(),
        now=NOW,
        timeout_s=Seconds(timeout),
        tell=heard.append,
    )
    assert {report.source for report in reports} == {report.source for report in heard}
    return list(reports)


def test_every_source_is_asked_with_its_key_and_recorded(
    server: str, own: DatabaseLocation
) -> None:
    reports = asked(own, "vastai", "runpod", "shadeform", "dstack")

    assert [None] * 4 == [report.error for report in reports]
    assert {"vastai", "runpod", "shadeform", "dstack"} == {
        part.report.name for part in stored_parts(own)
    }
    assert {("GET", f"{KEY}"), ("POST", f"Bearer {KEY}")} == {
        (method, key) for method, _, key in OfferHandler.seen
    }
    assert "/api/project/main%2F..%2Fx/runs/get_plan" in {path for _, path, _ in OfferHandler.seen}


def test_no_key_gets_into_the_database(server: str, own: DatabaseLocation) -> None:
    asked(own, "vastai", "dstack")

    assert own.path is not None
    written = b"".join(path.read_bytes() for path in own.path.parent.iterdir())
    assert KEY.encode() not in written


def test_a_source_that_fails_keeps_its_old_rows(
    server: str, own: DatabaseLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(own, "vastai")
    monkeypatch.setenv("CAUDAL_VASTAI_URL", f"{server}/503")

    failed, done = asked(own, "vastai", "shadeform")

    assert failed.error is not None
    assert "HTTP 503" in failed.error.problem
    assert KEY not in failed.error.problem
    assert done.error is None
    parts = {part.report.name: part for part in stored_parts(own)}
    assert 4 == parts["vastai"].table.size
    assert "HTTP 503" in parts["vastai"].report.problem


@pytest.mark.parametrize("path", ["hangs", "drips"])
def test_a_source_that_is_slow_is_left_at_its_time(
    path: str, server: str, own: DatabaseLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUDAL_VASTAI_URL", f"{server}/{path}")

    (late,) = asked(own, "vastai", timeout=0.3)

    assert late.error is not None
    assert "no answer within 0.3 s" in late.error.problem or "in time" in late.error.problem


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("401", "HTTP 401 the key is not accepted"),
        ("429", "HTTP 429 it was asked too often"),
        ("moved", "sends us elsewhere"),
        ("nothing", "without an offer"),
    ],
)
def test_a_refusal_is_told_in_words(
    path: str, problem: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUDAL_VASTAI_URL", f"{server}/{path}")

    with pytest.raises(SourceUnavailableError, match=problem):
        ask(LIVE_SOURCES["vastai"], facts=import_facts(), now=NOW, timeout_s=Seconds(20))

    assert "/vastai.json" not in [seen for _, seen, _ in OfferHandler.seen]


def test_a_key_is_never_sent_without_encryption() -> None:
    with pytest.raises(SourceUnavailableError, match="without encryption"):
        fetch(Request("http://example.org/", {"X-API-KEY": KEY}), timeout_s=Seconds(1))


def test_a_source_without_its_key_says_which(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNPOD_API_KEY")

    with pytest.raises(MissingKeyError, match="RUNPOD_API_KEY"):
        ask(LIVE_SOURCES["runpod"], facts=import_facts(), now=NOW, timeout_s=Seconds(1))

    assert not LIVE_SOURCES["runpod"].is_ready()
    assert LIVE_SOURCES["vastai"].is_ready()


def test_the_library_gpuhunt_is_read_as_its_files_are() -> None:
    from dataclasses import make_dataclass  # noqa: PLC0415

    item = make_dataclass(
        "Item",
        [
            *("provider", "instance_name", "location", "price", "cpu", "memory", "gpu_count"),
            *("gpu_name", "gpu_memory", "spot", "disk_size", "flags"),
        ],
    )
    found = item(
        "lambdalabs", "gpu_1x_a10", "us-1", 0.8, 30, 200.0, 1, "A10", 24.0, False, None, []
    )

    text = live_catalogue(lambda: [found])

    assert "lambdalabs,gpu_1x_a10,us-1,0.8,30,200.0,1,A10,24.0,False,\r\n" in text


def test_without_the_library_its_source_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="gpuhunt is not installed"):
        live_catalogue()
