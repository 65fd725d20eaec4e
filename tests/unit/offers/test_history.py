from dataclasses import replace
from datetime import date
from decimal import Decimal

from caudal.offers.history import PricePoint, point_of, points_of, price_history
from caudal.offers.known import bundled_batches
from caudal.offers.offer import Term
from caudal.vocabulary.money import UsdPerHour
from offer_cases import PLAIN

FIRST = point_of(PLAIN, source="a list")


def at(day: int, price: str | None, **fields: object) -> PricePoint:
    each = None if price is None else Decimal(price)
    point = replace(
        FIRST,
        observed_on=date(2026, 10, day),
        price=each,
        usd_per_gpu_hour=None if each is None else UsdPerHour(each),
    )
    return replace(point, **fields)  # type: ignore[arg-type]


def test_a_price_holds_until_the_next_observation_of_the_same_thing() -> None:
    points = [at(1, "3"), at(2, "1", instance="other"), at(3, "2"), at(4, None, instance="other")]

    daily = price_history(points).daily

    assert [("3", 1), ("1", 2), ("1", 2), ("2", 1)] == [
        (str(day.least_usd_per_gpu_hour), day.offers) for day in daily
    ]
    assert ["3", "3", "2", "2"] == [str(day.median_usd_per_gpu_hour) for day in daily]


def test_changes_are_of_one_thing_in_one_source() -> None:
    points = [at(1, "2"), at(2, "2"), at(3, "3"), at(4, "5", source="another")]

    (change,) = price_history(points).changes

    assert 50.0 == change.percent
    assert date(2026, 10, 3) == change.after.observed_on


def test_coming_and_going_have_no_percentage() -> None:
    gone, back = price_history([at(1, "2"), at(2, None), at(3, "2")]).changes

    assert (None, None) == (gone.percent, back.percent)


def test_regions_and_terms_choose_the_points() -> None:
    points = [at(1, "2"), at(2, "1", country="DE"), at(3, "1", term=Term.SPOT)]

    found = price_history(points, regions=("eu",))
    spot = price_history(points, terms=frozenset({Term.SPOT}))

    assert ["DE"] == [point.country for point in found.points]
    assert [Term.SPOT] == [day.term for day in spot.daily]


def test_the_bundled_lists_have_a_history_too() -> None:
    points = list(points_of(bundled_batches(), gpu_ids=frozenset({"h100-sxm"})))

    assert len({point.source for point in points}) > 3
