from dataclasses import replace
from datetime import date
from decimal import Decimal

from caudal.offers.book import EmptyReason, OfferBook, assemble_book
from caudal.offers.offer import Age, Offer
from caudal.offers.query import OfferQuery
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes
from offer_cases import PLAIN, TODAY, batch_of, book_of, offer_of


def reason_of(book: OfferBook, query: OfferQuery) -> EmptyReason:
    reason = book.explain_empty(query)
    assert reason is not None
    return reason


def test_the_cheapest_gpu_hour_comes_first() -> None:
    dear, cheap = offer_of(1, "3"), offer_of(8, "2")

    found = book_of(dear, cheap).select(OfferQuery())

    assert (cheap, dear) == found


def test_the_cheapest_of_a_size_holds_exactly_so_many() -> None:
    book = book_of(offer_of(8, "1"), offer_of(2, "3"), offer_of(2, "2"))

    found = book.cheapest_by("h100-sxm", 2)

    assert found is not None
    assert Decimal(2) == found.price_usd_per_gpu_hour
    assert book.cheapest_by("h100-sxm", 4) is None


def test_the_later_observation_replaces_the_earlier_and_learns_from_it() -> None:
    older = replace(PLAIN, vcpus=26, ram_bytes=Bytes(2**30), observed_on=date(2026, 6, 1))
    newer = replace(PLAIN, price=Decimal(3), price_usd_per_gpu_hour=UsdPerHour(Decimal(3)))

    book = assemble_book(
        [batch_of(older, source="old list"), batch_of(newer, source="new list")], today=TODAY
    )

    (kept,) = book.offers
    (aside,) = book.set_aside
    assert (Decimal(3), 26, 2**30) == (kept.price, kept.vcpus, kept.ram_bytes)
    assert "Another source had 2 USD on 2026-06-01." == kept.note
    assert "old list" == aside.source
    assert "saw it later" in aside.reason


def test_an_earlier_observation_read_later_is_set_aside_without_a_conflict() -> None:
    older = replace(PLAIN, observed_on=date(2026, 6, 1))

    book = assemble_book([batch_of(PLAIN), batch_of(older, source="old list")], today=TODAY)

    assert (PLAIN,) == book.offers
    assert ["old list"] == [row.source for row in book.set_aside]


def test_equal_names_within_one_source_are_different_configurations() -> None:
    other = replace(PLAIN, vcpus=8)

    assert 2 == len(book_of(PLAIN, other).offers)


def test_offers_without_a_region_replace_nothing() -> None:
    nowhere = replace(PLAIN, region="")

    book = assemble_book([batch_of(nowhere), batch_of(nowhere, source="b")], today=TODAY)

    assert 2 == len(book.offers)


def test_a_selection_that_finds_something_needs_no_reason() -> None:
    assert book_of(PLAIN).explain_empty(OfferQuery()) is None


def test_an_empty_selection_names_each_filter_that_alone_stands_in_the_way() -> None:
    book = book_of(
        offer_of(8, "4", instance="dear"),
        replace(offer_of(8, "2", instance="far"), country="DE"),
        replace(offer_of(8, "9", instance="both"), country="DE"),
    )
    query = OfferQuery(regions=("us",), max_usd_per_gpu_hour=UsdPerHour(Decimal(3)))

    reason = reason_of(book, query)

    assert [("region us", 1, "far"), ("price per GPU-hour at most $3", 1, "dear")] == [
        (item.filter, item.offers, item.nearest.instance) for item in reason.relaxations
    ]
    assert "Without 'region us' there would be 1" in reason.text
    assert "acme far in us-east-1, hourly, $2.00 per GPU-hour" in reason.text


def test_the_nearest_offer_is_near_in_what_was_asked_for() -> None:
    book = book_of(offer_of(1, "1", instance="tiny"), offer_of(6, "9", instance="six"))

    (relaxed,) = reason_of(book, OfferQuery(counts=frozenset({8}))).relaxations

    assert "six" == relaxed.nearest.instance


def test_where_no_single_filter_can_be_dropped_the_binding_one_is_named() -> None:
    query = OfferQuery(gpu_ids=frozenset({"l4"}), regions=("eu",))

    reason = reason_of(book_of(PLAIN), query)

    assert "GPU l4" == reason.binding
    assert () == reason.relaxations
    assert "1 passed the filters before 'GPU l4'" in reason.text


def test_an_empty_book_says_that_it_is_empty() -> None:
    nothing: tuple[Offer, ...] = ()

    assert "no offers" == reason_of(book_of(*nothing), OfferQuery(oldest=Age.HISTORICAL)).binding


def test_a_source_reports_when_its_prices_were_seen() -> None:
    book = assemble_book(
        [batch_of(PLAIN, replace(PLAIN, observed_on=date(2026, 1, 1))), batch_of(source="none")],
        today=TODAY,
    )

    full, empty = book.sources
    assert (date(2026, 1, 1), date(2026, 11, 1)) == (full.first_seen, full.last_seen)
    assert Age.FRESH is full.age(TODAY)
    assert empty.age(TODAY) is None
    assert frozenset({"acme"}) == book.providers
