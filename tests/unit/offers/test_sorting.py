import numpy as np
import pytest

from caudal.offers.offer import Age
from caudal.offers.query import OfferQuery
from caudal.offers.sorting import SORT_FIELDS, UnknownFieldError, sort_figures
from caudal.vocabulary.errors import UnknownModelError, UnknownPrecisionError
from offer_cases import book_of, offer_of

BOOK = book_of(
    offer_of(1, "3"),
    offer_of(8, "2"),
    offer_of(1, "1", gpu_id="t4"),
    offer_of(1, "2", gpu_fraction="0.5"),
)


@pytest.mark.parametrize("name", SORT_FIELDS)
def test_every_order_has_a_figure_for_every_row(name: str) -> None:
    assert 4 == sort_figures(BOOK, name).size


def test_the_largest_memory_comes_first() -> None:
    found = BOOK.find(OfferQuery(oldest=Age.HISTORICAL)).order_by(
        sort_figures(BOOK, "total_memory")
    )

    assert [8, 1, 1, 1] == [offer.gpu_count for offer in found]


def test_tokens_cost_nothing_where_they_cannot_be_made() -> None:
    figures = sort_figures(BOOK, "usd_per_million_tokens:llama-3.1-8b@bf16")
    by_offer = {
        (offer.gpu_id, offer.gpu_count, offer.is_fraction): float(figures[row])
        for row in range(4)
        for offer in [BOOK.offer(row)]
    }

    assert 0 < by_offer["h100-sxm", 8, False] < by_offer["h100-sxm", 1, False]
    assert np.isnan(by_offer["h100-sxm", 1, True])
    assert np.isnan(by_offer["t4", 1, False])


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("usd_per_huor", "usd_per_hour"),
        ("memory", "total_memory"),
        ("usd_per_million_tokens", "llama-3.1-70b@fp8"),
        ("age:x", "age"),
    ],
)
def test_a_misspelt_field_is_an_error_with_the_nearest_name(wanted: str, near: str) -> None:
    with pytest.raises(UnknownFieldError) as caught:
        sort_figures(BOOK, wanted)

    assert near in caught.value.remedy


def test_unknown_models_and_formats_are_named() -> None:
    with pytest.raises(UnknownModelError):
        sort_figures(BOOK, "usd_per_million_tokens:llama-3.1-7bb@bf16")
    with pytest.raises(UnknownPrecisionError):
        sort_figures(BOOK, "usd_per_million_tokens:llama-3.1-8b@fp9")
