"""A provider's own quote sheet in TOML: list prices per GPU and term, discounts, stock, regions.

`data/quotes/gpu-rent-hub.toml` is the documented template. Offers are made for every number of
GPUs from `minimum_gpus` to `maximum_gpus` in every region.
"""

import pkgutil
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from caudal.facts.currency import ExchangeRate
from caudal.facts.regions import Place, place_of
from caudal.facts.source import Source
from caudal.offers.batch import OfferBatch, OfferSource, ReadingFacts, SetAside
from caudal.offers.checks import impossibility, price_problem
from caudal.offers.offer import Offer, Term
from caudal.offers.price import Discount, Rounding, discounted, usd_per_gpu_hour
from caudal.offers.sources.rows import TERM_HOURS
from caudal.offers.sources.sheet_fields import Fields
from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import TB, Bytes

_LARGEST_COUNT: Final = 8
_SHEET_FIELDS: Final = (
    *("provider", "title", "currency", "tax", "observed_on", "term_note", "opens_later", "source"),
    *("terms", "discount", "rounding", "region", "gpu", "printed"),
)
_TERM_FIELDS: Final = (
    *(f"{term}_hours" for term in Term),
    *("included_egress_tb_per_month", "egress_usd_per_tb"),
)
_GPU_FIELDS: Final = (
    *("gpu_id", "title", "minimum_gpus", "maximum_gpus", "regions", "stock", "stock_by_region"),
    *("eight_in_a_node", *Term),
)


class QuoteSheet(NamedTuple):
    """What a sheet says about all of its offers."""

    provider: str
    title: str
    currency: str
    tax: str
    observed_on: date
    term_note: str
    opens_later: bool
    source: Source
    hours: Mapping[Term, Decimal]
    included_egress_bytes: Bytes | None
    egress_usd_per_byte: Decimal | None
    discounts: tuple[Discount, ...]
    roundings: tuple[Rounding, ...]
    regions: tuple[str, ...]
    entries: tuple["QuotedGpu", ...]
    printed: Mapping[tuple[str, int, Term], Decimal]


class QuotedGpu(NamedTuple):
    """One GPU of a sheet: its list prices, where it is and how many are free."""

    gpu_id: str
    title: str
    prices: Mapping[Term, Decimal]  # of one GPU
    minimum_gpus: int
    maximum_gpus: int
    regions: tuple[str, ...]
    stock: int | None
    stock_by_region: Mapping[str, int]
    node_is_stated: bool

    def stock_in(self, region: str) -> int | None:
        """Return the GPUs free in a region, or over all of them where no more is said."""
        return self.stock_by_region.get(region, self.stock)


def quote_sheet_source(name: str, *, title: str) -> OfferSource:
    """Return the bundled sheet of this name as a source."""

    def read(facts: ReadingFacts) -> OfferBatch:
        raw = pkgutil.get_data("caudal.offers", f"data/quotes/{name}.toml")
        assert raw is not None, f"the wheel lacks the quote sheet {name}"
        return offers_of_sheet(read_quote_sheet(raw.decode("utf-8"), where=f"{name}.toml"), facts)

    return OfferSource(name=name, title=title, read=read)


def read_quote_sheet(text: str, *, where: str) -> QuoteSheet:
    """Return the sheet in `text`.

    Raises:
        InvalidFactError: it is no TOML, or a field is missing or of the wrong kind.
    """
    try:
        fields = Fields(tomllib.loads(text, parse_float=Decimal), where=where)
    except tomllib.TOMLDecodeError as broken:
        raise InvalidFactError(
            f"The quote sheet {where} is no TOML: {broken}.", remedy="Mend the line it names."
        ) from broken
    fields.only(_SHEET_FIELDS)
    terms = fields.table("terms")
    terms.only(_TERM_FIELDS)
    source = fields.table("source")
    regions = tuple(region.text("name") for region in fields.tables("region")) or ("",)
    included = terms.maybe_number("included_egress_tb_per_month")
    beyond = terms.maybe_number("egress_usd_per_tb")
    return QuoteSheet(
        provider=fields.text("provider"),
        title=fields.text("title"),
        currency=fields.text("currency"),
        tax=fields.text("tax", default=""),
        observed_on=fields.day("observed_on"),
        term_note=fields.text("term_note", default=""),
        opens_later=fields.flag("opens_later"),
        source=Source(source.text("where"), source.day("read_on"), source.text("licence")),
        hours={
            term: terms.maybe_number(f"{term}_hours") or hours for term, hours in TERM_HOURS.items()
        },
        included_egress_bytes=None if included is None else Bytes(int(included * TB)),
        egress_usd_per_byte=None if beyond is None else beyond / TB,
        discounts=tuple(
            Discount(from_gpus=step.count("from_gpus"), percent=step.number("percent"))
            for step in fields.tables("discount")
        ),
        roundings=tuple(
            Rounding(from_gpus=step.count("from_gpus"), step=step.number("step"))
            for step in fields.tables("rounding")
        ),
        regions=regions,
        entries=tuple(_entry(entry, regions) for entry in fields.tables("gpu")),
        printed={
            (row.text("gpu_id"), row.count("gpus"), _term(row)): row.number("price")
            for row in fields.tables("printed")
        },
    )


def _entry(fields: Fields, regions: tuple[str, ...]) -> QuotedGpu:
    fields.only(_GPU_FIELDS)
    prices = {term: fields.maybe_number(str(term)) for term in Term}
    return QuotedGpu(
        gpu_id=fields.text("gpu_id"),
        title=fields.text("title"),
        prices={term: price for term, price in prices.items() if price is not None},
        minimum_gpus=fields.count("minimum_gpus", default=1),
        maximum_gpus=fields.count("maximum_gpus", default=_LARGEST_COUNT),
        regions=fields.texts("regions") or regions,
        stock=fields.maybe_count("stock"),
        stock_by_region=fields.counts("stock_by_region"),
        node_is_stated=fields.flag("eight_in_a_node"),
    )


def _term(fields: Fields) -> Term:
    text = fields.text("term")
    if text in set(Term):
        return Term(text)
    raise fields.wrong("term", f"one of {', '.join(Term)}")


def offers_of_sheet(sheet: QuoteSheet, facts: ReadingFacts) -> OfferBatch:
    """Return every offer that a sheet stands for; an impossible entry is set aside whole."""
    offers: list[Offer] = []
    set_aside: list[SetAside] = []
    for entry in sheet.entries:
        problem = _entry_problem(sheet, entry, facts)
        if problem is None:
            offers.extend(_offers(sheet, entry, facts.rates.of(sheet.currency)))
        else:
            set_aside.append(
                SetAside(
                    source=sheet.provider,
                    where=f"[[gpu]] {entry.gpu_id}",
                    what=f"{sheet.title} {entry.title}",
                    reason=problem,
                )
            )
    return OfferBatch(
        source=sheet.provider,
        title=sheet.title,
        licence=sheet.source.licence,
        offers=tuple(offers),
        set_aside=tuple(set_aside),
    )


def _entry_problem(sheet: QuoteSheet, entry: QuotedGpu, facts: ReadingFacts) -> str | None:
    gpu = facts.gpus.get(entry.gpu_id)
    if gpu is None:
        return f"the GPU {entry.gpu_id!r} is not in the catalogue"
    rate = facts.rates.find(sheet.currency)
    if rate is None:
        return f"there is no exchange rate for {sheet.currency!r}"
    for term, price in entry.prices.items():
        problem = price_problem(price * rate.usd_per_unit / sheet.hours[term])
        if problem is not None:
            return problem
    return impossibility(gpu, count=entry.maximum_gpus, fraction=Decimal(1), memory_gb_each=None)


def _offers(sheet: QuoteSheet, entry: QuotedGpu, rate: ExchangeRate) -> Iterator[Offer]:
    """Yield the offers of one GPU: terms × counts × regions."""
    places = [(region, place_of(sheet.provider, region)) for region in entry.regions]
    for term in Term:
        for gpus in range(entry.minimum_gpus, entry.maximum_gpus + 1):
            price = _price(sheet, entry, gpus=gpus, term=term)
            if price is None:
                continue
            for region, place in places:
                yield _offer(
                    sheet,
                    entry,
                    gpus=gpus,
                    term=term,
                    price=price,
                    region=region,
                    place=place,
                    rate=rate,
                )


def _price(sheet: QuoteSheet, entry: QuotedGpu, *, gpus: int, term: Term) -> Decimal | None:
    """Return the price of `gpus` for one unit of `term`: as printed, else by the discounts."""
    printed = sheet.printed.get((entry.gpu_id, gpus, term))
    if printed is not None or term not in entry.prices:
        return printed
    return discounted(
        entry.prices[term], gpus=gpus, discounts=sheet.discounts, roundings=sheet.roundings
    )


def _offer(
    sheet: QuoteSheet,
    entry: QuotedGpu,
    *,
    gpus: int,
    term: Term,
    price: Decimal,
    region: str,
    place: Place | None,
    rate: ExchangeRate,
) -> Offer:
    hours = sheet.hours[term]
    return Offer(
        provider=sheet.provider,
        instance=entry.title if gpus == 1 else f"{gpus}x {entry.title}",
        gpu_id=entry.gpu_id,
        gpu_count=gpus,
        gpu_fraction=Decimal(1),
        term=term,
        price=price,
        currency=sheet.currency,
        hours_per_unit=hours,
        price_usd_per_gpu_hour=usd_per_gpu_hour(
            price, hours_per_unit=hours, gpus=gpus, usd_per_unit=rate.usd_per_unit
        ),
        region=region,
        country=place.country if place else None,
        area=place.area if place else None,
        vcpus=None,
        ram_bytes=None,
        stock=entry.stock_in(region),
        minimum_gpus=entry.minimum_gpus,
        included_egress_bytes=sheet.included_egress_bytes if term is Term.MONTHLY else None,
        egress_usd_per_byte=sheet.egress_usd_per_byte,
        observed_on=sheet.observed_on,
        source=sheet.source,
        note=_note(sheet, entry, gpus=gpus, region=region),
        opens_later=sheet.opens_later,
        tax=sheet.tax,
    )


def _note(sheet: QuoteSheet, entry: QuotedGpu, *, gpus: int, region: str) -> str:
    parts = [sheet.term_note]
    stock = entry.stock_in(region)
    if stock is not None and stock < gpus:
        parts.append(f"{region or 'The list'} has {stock} in stock.")
    if gpus > 1 and not entry.node_is_stated:
        parts.append("That the cards share one node is not stated.")
    return " ".join(part for part in parts if part)
