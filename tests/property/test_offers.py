from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from caudal.offers.batch import OfferBatch
from caudal.offers.book import assemble_book
from caudal.offers.hosting import hosting_cost
from caudal.offers.offer import Age, Offer, Term
from caudal.offers.price import (
    Discount,
    EgressPrice,
    EgressTier,
    break_even_hours,
    discounted,
    egress_usd,
    round_to,
)
from caudal.offers.query import OfferQuery
from caudal.offers.sources.snapshot import COLUMNS, SnapshotList, read_snapshot
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import GB, Bytes
from offer_cases import FACTS, PLAIN, TODAY, batch_of, offer_of

written = st.text(st.characters(exclude_characters='\r\n,"', exclude_categories=["Cs"]), max_size=8)
prices = st.decimals(min_value="0.01", max_value="1000", places=4)
sizes = st.sampled_from([1, 2, 3, 4, 6, 8, 16])
whole_offers = st.builds(lambda gpus, price: offer_of(gpus, str(price)), gpus=sizes, price=prices)
any_offers = st.builds(
    lambda offer, term, days, country, gpu_id: replace(
        offer,
        term=term,
        observed_on=TODAY - timedelta(days=days),
        country=country,
        gpu_id=gpu_id,
    ),
    offer=whole_offers,
    term=st.sampled_from(Term),
    days=st.integers(0, 1500),
    country=st.sampled_from(["US", "DE", None]),
    gpu_id=st.sampled_from(["l4", "h100-sxm"]),
)
queries = st.builds(
    OfferQuery,
    gpu_ids=st.none() | st.just(frozenset({"l4"})),
    counts=st.none() | st.frozensets(sizes, min_size=1),
    regions=st.sampled_from([(), ("eu",), ("us", "de")]),
    terms=st.none() | st.frozensets(st.sampled_from(Term), min_size=1),
    max_usd_per_gpu_hour=st.none() | prices.map(UsdPerHour),
    max_usd_per_hour=st.none() | prices.map(UsdPerHour),
    oldest=st.sampled_from(Age),
    in_stock_only=st.booleans(),
)


@given(offers=st.lists(any_offers, max_size=12), query=queries)
def test_an_empty_selection_always_has_a_reason_and_only_it(
    offers: list[Offer], query: OfferQuery
) -> None:
    book = assemble_book([batch_of(*offers)], today=TODAY)

    reason = book.explain_empty(query)

    assert (reason is None) == bool(book.select(query))


@given(offers=st.lists(any_offers, max_size=12), query=queries)
def test_a_selection_is_sorted_and_from_the_book(offers: list[Offer], query: OfferQuery) -> None:
    book = assemble_book([batch_of(*offers)], today=TODAY)

    found = book.select(query)

    each = [offer.price_usd_per_gpu_hour for offer in found]
    assert sorted(each) == each
    assert set(found) <= set(book.offers)


@given(offers=st.lists(any_offers, max_size=12), query=queries)
def test_dropping_a_filter_never_finds_less(offers: list[Offer], query: OfferQuery) -> None:
    book = assemble_book([batch_of(*offers)], today=TODAY)

    wider = replace(query, regions=(), max_usd_per_hour=None, oldest=Age.HISTORICAL)

    assert set(book.select(query)) <= set(book.select(wider))


@given(offer=whole_offers, gpus=st.integers(1, 16), replicas=st.integers(1, 40))
def test_all_replicas_are_carried_and_paid(offer: Offer, gpus: int, replicas: int) -> None:
    gpus = min(gpus, offer.gpu_count)

    price = hosting_cost(offer, gpus_per_replica=gpus, replicas=replicas)

    assert price.instances * price.replicas_per_instance >= replicas
    assert (price.instances - 1) * price.replicas_per_instance < replicas
    assert price.gpus_idle >= 0
    assert price.usd_per_hour == price.instances * offer.usd_per_hour


@given(
    price=prices,
    gpus=st.integers(1, 16),
    percents=st.lists(st.integers(0, 90), min_size=3, max_size=3).map(sorted),
)
def test_a_rising_discount_never_makes_a_gpu_dearer(
    price: Decimal, gpus: int, percents: list[int]
) -> None:
    steps = [
        Discount(from_gpus=at, percent=Decimal(percent))
        for at, percent in zip((2, 4, 8), percents, strict=True)
    ]

    fewer = discounted(price, gpus=gpus, discounts=steps) / gpus
    more = discounted(price, gpus=gpus + 1, discounts=steps) / (gpus + 1)

    assert more <= fewer + Decimal("1e-20")


@given(amount=prices, step=st.sampled_from([Decimal(1), Decimal(10), Decimal("0.05")]))
def test_rounding_moves_by_half_a_step_at_most(amount: Decimal, step: Decimal) -> None:
    rounded = round_to(amount, step)

    assert abs(rounded - amount) * 2 <= step
    assert rounded % step == 0


@given(first=st.integers(0, 10**15), more=st.integers(0, 10**15))
def test_more_traffic_never_costs_less(first: int, more: int) -> None:
    price = EgressPrice(
        included_bytes=Bytes(100 * GB),
        tiers=(
            EgressTier(up_to_bytes=Bytes(10_000 * GB), usd_per_byte=Decimal("0.09") / GB),
            EgressTier(up_to_bytes=None, usd_per_byte=Decimal("0.05") / GB),
        ),
    )

    assert egress_usd(Bytes(first), price) <= egress_usd(Bytes(first + more), price)


@given(termed=prices, hourly=prices)
def test_at_the_break_even_both_cost_the_same(termed: Decimal, hourly: Decimal) -> None:
    hours = break_even_hours(termed, hourly=hourly)

    assert abs(hours * hourly - termed) < Decimal("1e-15")


@given(
    cells=st.lists(
        st.sampled_from(["", "1", "8", "-1", "NaN", "1e400", "l4", "h100-sxm", "USD", "2026-09-06"])
        | st.text(
            st.characters(exclude_characters='\r\n,"', exclude_categories=["Cs"]), max_size=8
        ),
        min_size=len(COLUMNS) - 1,
        max_size=len(COLUMNS) + 1,
    )
)
def test_any_row_is_offered_or_set_aside_and_never_fails(cells: list[str]) -> None:
    text = "\n".join([",".join(COLUMNS), ",".join(cells)])
    listing = SnapshotList(name="test", title="Test", licence="MIT")

    batch: OfferBatch = read_snapshot(text, listing=listing, facts=FACTS)

    for offer in batch.offers:
        assert offer.price_usd_per_gpu_hour > 0
    assert len(batch.offers) <= 2


@given(days=st.lists(st.integers(0, 400), min_size=2, max_size=4))
def test_of_several_sources_the_latest_observation_is_offered(days: list[int]) -> None:
    seen = [TODAY - timedelta(days=count) for count in days]
    batches = [
        batch_of(replace(PLAIN, observed_on=day), source=f"list {number}")
        for number, day in enumerate(seen)
    ]

    book = assemble_book(batches, today=TODAY)

    (kept,) = book.offers
    latest: date = max(seen)
    assert latest == kept.observed_on
    assert len(days) - 1 == len(book.set_aside)
