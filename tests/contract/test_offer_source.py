"""What every source of offers keeps, whoever wrote it."""

from datetime import date

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.regions import country_areas
from caudal.offers.batch import OfferBatch, OfferSource
from caudal.offers.bundled import BUNDLED_SOURCES, bundled_offers
from caudal.offers.offer import Age
from caudal.offers.page import StoredTable, write_page
from caudal.offers.query import OfferQuery
from caudal.offers.sources.cells import for_spreadsheet
from list_cases import LISTS, read_recorded
from offer_cases import FACTS, TODAY

SHIPPABLE = {"Apache-2.0", "MIT", "facts only"}
OLDEST = date(2023, 1, 1)  # before the oldest list


def recorded_source(name: str) -> OfferSource:
    batch = read_recorded(name)
    return OfferSource(name=batch.source, title=batch.title, read=lambda _: read_recorded(name))


RECORDED_SOURCES = tuple(map(recorded_source, LISTS))
BUNDLED = {source.name for source in BUNDLED_SOURCES}


@pytest.fixture(params=[*BUNDLED_SOURCES, *RECORDED_SOURCES], ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> OfferSource:
    assert isinstance(request.param, OfferSource)
    return request.param


@pytest.fixture
def batch(source: OfferSource) -> OfferBatch:
    return source.read(FACTS)


def test_a_source_yields_offers_under_its_own_name(source: OfferSource, batch: OfferBatch) -> None:
    assert source.name == batch.source
    assert source.title == batch.title
    assert batch.offers


def test_reading_twice_yields_the_same(source: OfferSource, batch: OfferBatch) -> None:
    assert batch == source.read(FACTS)


def test_every_price_is_positive_and_finite(batch: OfferBatch) -> None:
    for offer in batch.offers:
        assert offer.price.is_finite()
        assert offer.price > 0
        assert offer.price_usd_per_gpu_hour > 0
        assert offer.hours_per_unit > 0


def test_the_basis_follows_from_the_price(batch: OfferBatch) -> None:
    for offer in batch.offers:
        usd = offer.price * FACTS.rates.of(offer.currency).usd_per_unit
        expected = usd / offer.hours_per_unit / offer.total_gpus

        assert abs(expected - offer.price_usd_per_gpu_hour) < expected / 10**20


def test_every_gpu_is_in_the_catalogue(batch: OfferBatch) -> None:
    assert {offer.gpu_id for offer in batch.offers} <= {gpu.id for gpu in gpu_catalogue().all}


def test_counts_and_parts_make_sense(batch: OfferBatch) -> None:
    for offer in batch.offers:
        assert 1 <= offer.minimum_gpus <= offer.gpu_count
        assert 0 < offer.gpu_fraction <= 1
        assert offer.vcpus is None or offer.vcpus > 0
        assert offer.ram_bytes is None or offer.ram_bytes > 0
        assert offer.stock is None or offer.stock >= 0


def test_no_price_was_seen_in_the_future(batch: OfferBatch) -> None:
    for offer in batch.offers:
        assert OLDEST <= offer.observed_on <= TODAY
        assert offer.source.read_on <= TODAY


def test_every_offer_says_where_it_was_read_and_may_be_shipped(batch: OfferBatch) -> None:
    for offer in batch.offers:
        assert offer.source.where
        assert offer.source.licence == batch.licence
        assert batch.source not in BUNDLED or offer.source.licence in SHIPPABLE


def test_every_named_region_has_a_place(batch: OfferBatch) -> None:
    for offer in batch.offers:
        assert batch.source not in BUNDLED or (offer.region == "") == (offer.country is None)
        if offer.country is not None:
            assert country_areas()[offer.country] == offer.area


def test_every_row_set_aside_has_a_reason(batch: OfferBatch) -> None:
    for row in batch.set_aside:
        assert row.source == batch.source
        assert row.where
        assert row.what
        assert row.reason


def test_the_prices_of_2023_are_left_out_unless_asked_for() -> None:
    book = bundled_offers(today=TODAY)

    quoted = book.select(OfferQuery())
    everything = book.select(OfferQuery(oldest=Age.HISTORICAL))

    assert date(2026, 1, 1) <= min(offer.observed_on for offer in quoted)
    assert date(2023, 10, 1) == min(offer.observed_on for offer in everything)
    assert len(book.offers) == len(everything)


def test_no_row_is_lost_between_the_sources_and_the_book() -> None:
    batches = [source.read(FACTS) for source in BUNDLED_SOURCES]

    book = bundled_offers(today=TODAY)

    read = sum(len(batch.offers) + len(batch.set_aside) for batch in batches)
    assert read == len(book.offers) + len(book.set_aside)


def test_what_a_list_does_not_say_is_unknown_and_never_zero(batch: OfferBatch) -> None:
    for offer in batch.offers:
        for name in ("vcpus", "ram_bytes", "cold_start_s", "billing_unit_s", "network_bytes_per_s"):
            assert getattr(offer, name) != 0, name


def test_every_offer_survives_its_page(batch: OfferBatch) -> None:
    limits = batch.offers[0].age_limits

    table = StoredTable(write_page(batch.offers), age_limits=limits)

    assert list(batch.offers) == [table.offer(row) for row in range(table.size)]


def test_no_text_of_a_list_is_a_formula(batch: OfferBatch) -> None:
    for offer in batch.offers:
        for text in (offer.provider, offer.instance, offer.region, offer.note):
            assert for_spreadsheet(text) == text
