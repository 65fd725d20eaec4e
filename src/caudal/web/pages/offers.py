"""Offers: everything that can be rented, on one basis, with the age of each price."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

from caudal.documents.offers import find_offers, offer_query
from caudal.documents.written import parse_age_days
from caudal.facts.gpus import gpu_catalogue
from caudal.offers.book import OfferBook
from caudal.offers.offer import Offer
from caudal.offers.query import OfferQuery
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.quantities import parse_bytes, parse_usd_per_hour
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.gpus import memory_gb
from caudal.web.pages.home import REGIONS, TERMS

STEP: Final = 50  # chosen: rows of one screenful or two
MOST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The offers that pass in one part of the world."""

    area: str
    offers: int
    providers: int
    cheapest: Offer


def show_offers(page: Page) -> Shown:
    """Return the offers that pass the filters, or which filter binds."""
    book = page.services.book()
    values: dict[str, object] = {
        "book": book,
        "terms": TERMS,
        "term_pairs": [(term.value, page.gettext(name)) for term, name in TERMS.items()],
        "regions": REGIONS,
        "gpus": gpu_catalogue().all,
        "providers": sorted(book.providers),
        "memory_gb": memory_gb,
        "failure": None,
        "offers": None,
        "by_region": [],
        "filtered": any(page.get(name) for name in _FILTERS),
        "today": book.today,
    }
    try:
        query = _query(page)
        gpus = tuple(part.strip() for part in page.get("gpu").split(",") if part.strip())
        offers = find_offers(gpus, query, book=book, top=_top(page))
        values |= {
            "offers": offers,
            "by_region": _by_region(book, query, offers.found) if not gpus else [],
            "next_top": _top(page) + STEP * 2,
        }
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("offers.html", {**values, "failure": failure}, status)
    return Shown("offers.html", values)


_FILTERS: Final = (
    *("gpu", "region", "term", "provider", "without_provider", "max_gpu_price", "max_price"),
    *("max_price_age", "min_memory", "fp8", "fast_link", "in_stock", "now", "verified", "whole"),
)


def _top(page: Page) -> int:
    text = page.get("top", str(STEP)) or str(STEP)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= MOST):
        raise InvalidQuantityError(
            f"{text[:20]!r} rows cannot be shown.", remedy=f"Give 1 to {MOST}."
        )
    return int(text)


def _query(page: Page) -> OfferQuery:
    query = offer_query(
        regions=_listed(page.get("region")),
        providers=_listed(page.get("provider")),
        without=_listed(page.get("without_provider")),
        terms=_listed(page.get("term")),
        max_price=page.read("max_price", parse_usd_per_hour),
        max_gpu_price=page.read("max_gpu_price", parse_usd_per_hour),
        max_price_age=page.read("max_price_age", parse_age_days),
    )
    return replace(
        query,
        native_fp8=bool(page.get("fp8")),
        fast_link=bool(page.get("fast_link")),
        in_stock_only=bool(page.get("in_stock")),
        opening_later=not page.get("now"),
        fractions=not page.get("whole"),
        verified_only=bool(page.get("verified")),
        min_total_memory_bytes=page.read(
            "min_memory", lambda text: parse_bytes(text if text[-1:].isalpha() else f"{text}GB")
        ),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _by_region(book: OfferBook, query: OfferQuery, found: int) -> list[Region]:
    """Return where the offers are: cheapest and number in each part of the world."""
    assert found, "an empty selection is an error"
    areas: dict[str, list[Offer]] = defaultdict(list)
    for offer in book.find(query).first(5_000):
        areas[offer.area or ""].append(offer)
    return sorted(
        (
            Region(
                area=area,
                offers=len(listed),
                providers=len({offer.provider for offer in listed}),
                cheapest=listed[0],
            )
            for area, listed in areas.items()
        ),
        key=lambda region: -region.offers,
    )
