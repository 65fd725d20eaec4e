"""From an offer and its use to what will be paid, item by item.

Nothing is hidden in a factor: each item says quantity, unit price, amount and basis. A term that
is not known is named in `unknown` and adds nothing, so a total with unknowns is a lower bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Final

from caudal.offers.offer import Offer
from caudal.offers.price import EgressPrice, discount_percent, egress_usd, usd_per_gb
from caudal.plan.use import MEAN_MONTH_HOURS, RentTerms, Use, rent_terms
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.money import Usd, UsdPerMonth
from caudal.vocabulary.units import GB, SECONDS_PER_HOUR, Bytes

_ZERO: Final = Decimal(0)
_VAT: Final = "VAT"
_LONG_SESSION_HOURS: Final = 24  # chosen: minima of metered offers are minutes or an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class CostItem:
    """One line of a bill."""

    name: str
    quantity: Decimal
    unit: str  # of the quantity, such as "instance-hours"
    usd_per_unit: Decimal
    usd: Usd
    basis: str  # why this quantity at this price
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullPrice:
    """What a rental costs in a period, itemised; `unknown` is what no item could be made of."""

    usd: Usd  # all items together
    items: tuple[CostItem, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    instances: int
    period_hours: Decimal
    billed_hours: Decimal  # of one instance
    used_hours: Decimal  # of one instance, without starting and rounding
    month_hours: Decimal  # by which this offer's months are counted

    @property
    def usd_before_tax(self) -> Usd:
        """Return the total without the line for VAT, as API prices are listed."""
        return Usd(_total([item for item in self.items if item.name != _VAT]))

    @property
    def usd_per_day(self) -> Usd:
        """Return the total, spread over the days of the period."""
        return Usd(self.usd * 24 / self.period_hours)

    @property
    def usd_per_month(self) -> UsdPerMonth:
        """Return the total for a month as this offer sells it."""
        return UsdPerMonth(self.usd * self.month_hours / self.period_hours)

    @property
    def usd_per_mean_month(self) -> UsdPerMonth:
        """Return the total for 730 hours, the one basis for metered and termed offers."""
        return UsdPerMonth(self.usd * MEAN_MONTH_HOURS / self.period_hours)

    @property
    def usd_per_year(self) -> Usd:
        """Return the total for 365 days."""
        return Usd(self.usd_per_day * 365)

    def share_of(self, item: CostItem) -> float:
        """Return the part of the total that an item makes."""
        return float(item.usd / self.usd) if self.usd else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """The hours of one instance in the period, as used and as billed."""

    used: Decimal
    starting: Decimal
    rounding: Decimal

    @property
    def billed(self) -> Decimal:
        return self.used + self.starting + self.rounding


def full_price(
    offer: Offer, use: Use, *, instances: int = 1, terms: RentTerms | None = None
) -> FullPrice:
    """Return what `instances` of the offer cost in this use.

    Metered: `starts · max(minimum, ceil((hours / starts + start) / unit) · unit)` hours of each
    instance. Termed: whole terms if the use ends, the month's share of a term if it goes on.
    Leaves out support plans, private links, snapshots, public addresses, and waiting for stock.

    Raises:
        InvalidQuantityError: fewer than one instance.
    """
    if instances < 1:
        raise InvalidQuantityError(
            f"{instances} instances cannot be rented.", remedy="Give 1 or more."
        )
    known = terms or rent_terms(offer)
    unknown: list[str] = []
    time = (_metered if offer.term.is_metered else _termed)(offer, use, known, unknown)
    rental = _Rental(
        offer=offer, use=use, terms=known, instances=instances, time=time, unknown=unknown
    )
    items = list(_time_items(rental))
    items += _discount_items(rental, items)
    items += _once_items(rental)
    items += _rest_items(rental)
    items += _disk_items(rental)
    items += _egress_items(rental)
    items += _tax_items(rental, items)
    return FullPrice(
        usd=Usd(_total(items)),
        items=tuple(items),
        unknown=tuple(unknown),
        notes=tuple(_notes(rental)),
        instances=instances,
        period_hours=use.period_hours(offer),
        billed_hours=time.billed,
        used_hours=time.used,
        month_hours=offer.month_hours,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rental:
    """What all items are made from; `unknown` is added to."""

    offer: Offer
    use: Use
    terms: RentTerms
    instances: int
    time: _Time
    unknown: list[str]


def _metered(offer: Offer, use: Use, terms: RentTerms, unknown: list[str]) -> _Time:
    period, starts = use.period_hours(offer), use.starts_in(offer)
    used = period * use.hours_per_day / 24
    goes_on = starts == 1 and not use.rests
    start = _ZERO if goes_on else _start_hours(offer, use, terms, unknown)
    starting = min(start * starts, period - used)  # a machine that is always on starts within
    if goes_on and use.days is None:
        return _Time(used=used, starting=starting, rounding=_ZERO)
    session = (used + starting) / starts
    billed = session
    if terms.billing_unit_s is None:
        unknown.append("the unit to which time is rounded up")
    else:
        billed = _ceiling(session, _hours(terms.billing_unit_s))
    if terms.minimum_s is None:
        if session < _LONG_SESSION_HOURS:
            unknown.append("the shortest time that a start is charged")
    else:
        billed = max(billed, _hours(terms.minimum_s))
    return _Time(used=used, starting=starting, rounding=billed * starts - used - starting)


def _termed(offer: Offer, use: Use, terms: RentTerms, unknown: list[str]) -> _Time:
    del terms, unknown  # a term is paid whole, whatever happens in it
    period = use.period_hours(offer)
    used = period * use.hours_per_day / 24
    paid = period if use.days is None else _ceiling(period, offer.hours_per_unit)
    return _Time(used=used, starting=_ZERO, rounding=paid - used)


def _start_hours(offer: Offer, use: Use, terms: RentTerms, unknown: list[str]) -> Decimal:
    """Return how long a start is billed before it serves: the machine, then the model."""
    hours = _ZERO
    if terms.start_s is None:
        unknown.append("how long a start takes")
    else:
        hours += _hours(terms.start_s)
    if use.download_bytes:
        rate = use.download_bytes_per_s or offer.network_bytes_per_s
        if rate is None:
            unknown.append(f"how long {use.download_bytes / GB:,.0f} GB of model take to fetch")
        else:
            hours += Decimal(use.download_bytes) / Decimal(rate) / SECONDS_PER_HOUR
    return hours


def _time_items(rental: _Rental) -> Iterator[CostItem]:
    offer, time = rental.offer, rental.time
    gpus = f"{offer.gpu_count} x {offer.gpu_id}"
    rounding = "rounding up, minimum" if offer.term.is_metered else "term paid, not used"
    for name, hours, basis in (
        ("instances", time.used, f"{gpus} at ${offer.price_usd_per_gpu_hour:.4g} a GPU-hour"),
        ("starting", time.starting, "billed from the start, before it serves"),
        (rounding, time.rounding, f"{offer.term} billing"),
    ):
        if hours or name == "instances":
            yield _item(
                name, hours * rental.instances, "instance-hours", offer.usd_per_hour, basis=basis
            )


def _discount_items(rental: _Rental, before: list[CostItem]) -> Iterator[CostItem]:
    base, gpus = _total(before), rental.instances * rental.offer.gpu_count
    listed = discount_percent(gpus, rental.terms.discounts)
    if listed:
        yield _item("discount by count", -listed, "%", base / 100, basis=f"{gpus} GPUs together")
        base *= (100 - listed) / 100
    if rental.use.discount_percent:
        percent = -rental.use.discount_percent
        yield _item("discount", percent, "%", base / 100, basis="on instances, as given")


def _once_items(rental: _Rental) -> Iterator[CostItem]:
    usd = rental.terms.setup_usd
    if usd and rental.use.days is not None:
        yield _item("set-up", Decimal(rental.instances), "instances", usd, basis="once")


def _rest_items(rental: _Rental) -> Iterator[CostItem]:
    resting = rental.use.period_hours(rental.offer) - rental.time.billed
    if not rental.use.rests or not rental.offer.term.is_metered or resting <= 0:
        return
    usd = rental.terms.stopped_usd_per_hour
    if usd is None:
        rental.unknown.append("what an instance costs while it is stopped")
        return
    yield _item(
        "stopped", resting * rental.instances, "instance-hours", usd, basis="while it rests"
    )


def _disk_items(rental: _Rental) -> Iterator[CostItem]:
    terms = rental.terms
    size = max(0, rental.use.disk_bytes - (terms.included_disk_bytes or 0))
    if not size:
        return
    running = terms.storage_usd_per_byte_hour
    if running is None:
        rental.unknown.append(f"the price of {size / GB:,.0f} GB of disk an instance")
        return
    period = rental.use.period_hours(rental.offer)
    hours = min(rental.time.billed, period)
    stopped = terms.stopped_storage_usd_per_byte_hour or running
    for name, span, price in (("disk", hours, running), ("disk at rest", period - hours, stopped)):
        if span > 0:
            quantity = Decimal(size) / GB * span * rental.instances
            basis = f"{size / GB:,.0f} GB an instance"
            yield _item(name, quantity, "GB-hours", usd_per_gb(price), basis=basis)


def _egress_items(rental: _Rental) -> Iterator[CostItem]:
    sent, price = rental.use.data_out_bytes, rental.terms.egress
    if not sent:
        return
    if price is None:
        rental.unknown.append(f"the price of {sent / GB:,.0f} GB of data out")
        return
    months = rental.use.months(rental.offer)
    usd = months * egress_of(rental.terms, Bytes(sent // months), instances=rental.instances)
    each = " and instance" if rental.terms.egress_is_per_instance else ""
    yield CostItem(
        name="data out",
        quantity=Decimal(sent) / GB,
        unit="GB",
        usd_per_unit=usd * GB / sent,
        usd=Usd(usd),
        basis=f"{price.included_bytes / GB:,.0f} GB a month{each} included, then by tier",
    )


def egress_of(terms: RentTerms, sent: Bytes, *, instances: int) -> Decimal:
    """Return what a month's data out of a deployment costs; the price must be known.

    An allowance of the offer counts for each instance, one of the provider's for the account.
    """
    price = terms.egress
    assert price is not None, "an unknown price of data out is named, not reckoned with"
    times = instances if terms.egress_is_per_instance else 1
    included = Bytes(price.included_bytes * times)
    return egress_usd(sent, EgressPrice(included_bytes=included, tiers=price.tiers))


def _tax_items(rental: _Rental, before: list[CostItem]) -> Iterator[CostItem]:
    percent = rental.use.vat_percent
    if percent is not None and rental.offer.tax != "included":
        yield _item(_VAT, percent, "%", _total(before) / 100, basis="on the lines above, as asked")


def _notes(rental: _Rental) -> Iterator[str]:
    offer, setup_s = rental.offer, rental.terms.setup_s
    if offer.month_hours != MEAN_MONTH_HOURS:
        yield (
            f"{offer.provider} counts {offer.month_hours:f} h a month; the mean month of "
            f"{MEAN_MONTH_HOURS:f} h is shown beside it"
        )
    if setup_s:
        yield f"{setup_s / SECONDS_PER_HOUR:g} h from the order to the hand-over"
    if offer.tax == "included":
        yield "this list's prices hold tax already"
    elif rental.use.vat_percent is not None and offer.tax != "excluded":
        yield "the list does not say whether its prices hold tax; VAT was put on top"


def _item(
    name: str, quantity: Decimal, unit: str, usd_per_unit: Decimal, *, basis: str
) -> CostItem:
    return CostItem(
        name=name,
        quantity=quantity,
        unit=unit,
        usd_per_unit=usd_per_unit,
        usd=Usd(quantity * usd_per_unit),
        basis=basis,
    )


def _total(items: list[CostItem]) -> Decimal:
    return sum((item.usd for item in items), _ZERO)


def _hours(seconds: float) -> Decimal:
    return Decimal(str(seconds)) / SECONDS_PER_HOUR


def _ceiling(hours: Decimal, unit: Decimal) -> Decimal:
    """Return the multiple of `unit` that is not below `hours`, forgiving the 28th digit."""
    units = (hours / unit).quantize(Decimal("1e-12")).to_integral_value(rounding=ROUND_CEILING)
    return max(hours, units * unit)
