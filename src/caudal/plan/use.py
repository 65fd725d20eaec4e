"""How a rental is used: hours, days, starts, disk and data out; and on which terms it is billed."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from caudal.offers.egress import egress_prices
from caudal.offers.offer import Offer
from caudal.offers.price import Discount, EgressPrice, EgressTier
from caudal.offers.terms import provider_terms
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.money import METERED_HOURS_PER_MONTH
from caudal.vocabulary.units import Bytes, BytesPerSecond, Seconds

HOURS_PER_DAY: Final = Decimal(24)
MEAN_MONTH_HOURS: Final = METERED_HOURS_PER_MONTH
_NONE: Final = Bytes(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What is done with every instance. The defaults run it always, for a month as it is sold."""

    hours_per_day: Decimal = HOURS_PER_DAY
    days: Decimal | None = None  # None: a month that goes on after, 730 h metered, else as sold
    starts: int | None = None  # None: one a day where it rests, one where it never does
    data_out_bytes: Bytes = _NONE  # of all instances, in the period
    disk_bytes: Bytes = _NONE  # of one instance, kept while it rests
    download_bytes: Bytes = _NONE  # the model, fetched by each instance at each start
    download_bytes_per_s: BytesPerSecond | None = None  # None: what the offer says, if it does
    discount_percent: Decimal = Decimal(0)  # negotiated, on instances alone
    vat_percent: Decimal | None = None  # None: without a line for tax

    def __post_init__(self) -> None:
        if not 0 < self.hours_per_day <= HOURS_PER_DAY:
            raise _out_of_range("Hours a day", self.hours_per_day, "more than 0, at most 24")
        if self.days is not None and not 0 < self.days <= 3660:
            raise _out_of_range("Days", self.days, "more than 0, at most 3660")
        if self.starts is not None and self.starts < 1:
            raise _out_of_range("Starts", self.starts, "1 or more")
        if min(self.data_out_bytes, self.disk_bytes, self.download_bytes) < 0:
            raise _out_of_range("A size", "negative", "0 or more")
        if not 0 <= self.discount_percent < 100:
            raise _out_of_range("A discount", f"{self.discount_percent} %", "0 to below 100 %")
        if self.vat_percent is not None and not 0 <= self.vat_percent <= 100:
            raise _out_of_range("VAT", f"{self.vat_percent} %", "0 to 100 %")

    @property
    def rests(self) -> bool:
        """Return whether the instances stop for a part of each day."""
        return self.hours_per_day < HOURS_PER_DAY

    @property
    def period_text(self) -> str:
        """Return the period as sentences end with it: "a month" or "in 7 days"."""
        return "a month" if self.days is None else f"in {self.days:f} days"

    @property
    def is_plain(self) -> bool:
        """Return whether only the list price counts: always on for a month, nothing beside it."""
        return self == Use()

    def period_hours(self, offer: Offer) -> Decimal:
        """Return the hours of the period, used or not."""
        return offer.month_hours if self.days is None else self.days * HOURS_PER_DAY

    def starts_in(self, offer: Offer) -> int:
        """Return how often each instance starts in the period."""
        if self.starts is not None:
            return self.starts
        if not self.rests:
            return 1
        return max(1, _rounded_up(self.period_hours(offer) / HOURS_PER_DAY))

    def months(self, offer: Offer) -> int:
        """Return the months begun, by which traffic is counted."""
        return 1 if self.days is None else max(1, _rounded_up(self.period_hours(offer) / 730))


@dataclass(frozen=True, slots=True, kw_only=True)
class RentTerms:
    """How one offer is billed. None is unknown, which is never taken for zero."""

    billing_unit_s: Seconds | None
    minimum_s: Seconds | None  # charged at each start
    setup_s: Seconds | None  # from the order to the hand-over, not billed
    setup_usd: Decimal | None  # once
    start_s: Seconds | None  # from a start to a running machine, billed
    included_disk_bytes: Bytes | None
    storage_usd_per_byte_hour: Decimal | None  # beyond the disk that is included
    stopped_storage_usd_per_byte_hour: Decimal | None  # None: as while it runs, if that is known
    stopped_usd_per_hour: Decimal | None  # of the whole instance while it rests
    egress: EgressPrice | None  # of one month
    egress_is_per_instance: bool  # whether each instance brings what is included
    discounts: tuple[Discount, ...] = ()  # by GPUs rented together, not yet in the price
    source: str = ""


def rent_terms(offer: Offer) -> RentTerms:
    """Return the terms of an offer: its own where it states them, else its provider's."""
    known = provider_terms(offer.provider)
    return RentTerms(
        billing_unit_s=_first(offer.billing_unit_s, known.billing_unit_s),
        minimum_s=_first(offer.minimum_s, known.minimum_s),
        setup_s=offer.setup_s,
        setup_usd=offer.setup_usd,
        start_s=offer.cold_start_s,
        included_disk_bytes=offer.local_disk_bytes,
        storage_usd_per_byte_hour=offer.storage_usd_per_byte_hour,
        stopped_storage_usd_per_byte_hour=None,
        stopped_usd_per_hour=offer.stopped_usd_per_hour,
        egress=_egress(offer, known.egress_list),
        egress_is_per_instance=offer.egress_usd_per_byte is not None,
        source=known.source.where if known.source else "",
    )


def repriced(offer: Offer, *, usd_per_unit: Decimal) -> Offer:
    """Return the offer with its own currency at another rate; a dollar offer stays as it is."""
    each = offer.price * usd_per_unit / (offer.hours_per_unit * offer.total_gpus)
    return replace(offer, price_usd_per_gpu_hour=type(offer.price_usd_per_gpu_hour)(each))


def _egress(offer: Offer, listed: str | None) -> EgressPrice | None:
    if offer.egress_usd_per_byte is not None:
        return EgressPrice(
            included_bytes=offer.included_egress_bytes or Bytes(0),
            tiers=(EgressTier(up_to_bytes=None, usd_per_byte=offer.egress_usd_per_byte),),
        )
    return egress_prices().get(listed) if listed else None


def _first(own: Seconds | None, usual: Seconds | None) -> Seconds | None:
    return usual if own is None else own


def _rounded_up(value: Decimal) -> int:
    return int(-(-value // 1)) if value == value.to_integral_value() else int(value // 1) + 1


def _out_of_range(what: str, value: object, allowed: str) -> InvalidQuantityError:
    return InvalidQuantityError(f"{what}: {value} cannot be meant.", remedy=f"Give {allowed}.")
