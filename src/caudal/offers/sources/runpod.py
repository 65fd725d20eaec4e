"""RunPod: GPU types and their prices, as its GraphQL (`gpuTypes`) answers.

Prices are of one GPU: securePrice and communityPrice $/h on demand, …SpotPrice $/h interruptible;
oneWeekPrice … sixMonthPrice are rates of a term, which the API does not date: they are read as $/h
where they are near the hourly price, as the price of the whole term where they are near that, and
else set aside. Offers are made for 1, 2, 4 … GPUs up to the most that one machine holds.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from caudal.offers.offer import Term
from caudal.offers.sources.cells import CellError
from caudal.offers.sources.json_values import JsonRow, parse_reply
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.rows import TERM_HOURS, Listed, Row
from caudal.vocabulary.units import GB, Bytes

_SIZES: Final = (1, 2, 4, 8)
_TERMS: Final = {
    "oneWeekPrice": Term.WEEKLY,
    "oneMonthPrice": Term.MONTHLY,
    "threeMonthPrice": Term.QUARTERLY,
    "sixMonthPrice": Term.HALF_YEARLY,
}
# Chosen: a commitment is cheaper than on demand, by less than two thirds.
_CHEAPEST_SHARE: Final = Decimal("0.33")
_DEAREST_SHARE: Final = Decimal("1.05")
QUERY: Final = (
    "query { gpuTypes { id displayName memoryInGb secureCloud communityCloud securePrice"
    " communityPrice secureSpotPrice communitySpotPrice oneWeekPrice oneMonthPrice"
    " threeMonthPrice sixMonthPrice maxGpuCountSecureCloud maxGpuCountCommunityCloud } }"
)


def rows(text: str, reading: Reading) -> Iterator[Row | None]:
    """Yield the offers of a reply."""
    reply = JsonRow(parse_reply(text, name=reading.name))
    for position, item in enumerate(reply.inner("data").rows("gpuTypes"), start=1):
        where, what = f"gpuTypes {position}", f"gpuTypes {position}"
        try:
            what = item.text("displayName") or item.text("id")
            if not what or what == "unknown":
                yield None
                continue
            found = list(_priced(item))
        except CellError as broken:
            yield Row(where, what, str(broken))
            continue
        if not found:
            yield None
        for one in found:
            yield from (Row(where, what, listed) for listed in _sizes(item, one))


class _Priced:
    """A price of one GPU."""

    __slots__ = ("cloud", "each", "hours", "problem", "term")

    def __init__(
        self, cloud: str, term: Term, each: Decimal, hours: Decimal, problem: str = ""
    ) -> None:
        self.cloud, self.term, self.each, self.hours = cloud, term, each, hours
        self.problem = problem


def _priced(item: JsonRow) -> Iterator[_Priced]:
    for cloud in ("secure", "community"):
        if item.flag(f"{cloud}Cloud") is False:
            continue
        for term, key in ((Term.HOURLY, f"{cloud}Price"), (Term.SPOT, f"{cloud}SpotPrice")):
            price = item.number(key)
            if price:
                yield _Priced(cloud, term, price, Decimal(1))
    hourly = item.number("securePrice")
    for key, term in _TERMS.items():
        price = item.number(key)
        if price and hourly:
            yield _of_term(price, hourly, term)


def _of_term(price: Decimal, hourly: Decimal, term: Term) -> _Priced:
    """Return a term's price by the hour or by the term, whichever its size allows."""
    for hours in (Decimal(1), TERM_HOURS[term]):
        if _CHEAPEST_SHARE <= price / hours / hourly <= _DEAREST_SHARE:
            return _Priced("secure", term, price * TERM_HOURS[term] / hours, TERM_HOURS[term])
    problem = f"its {term.value} price {price} fits neither an hour nor the term"
    return _Priced("secure", term, price, TERM_HOURS[term], problem)


def _sizes(item: JsonRow, priced: _Priced) -> Iterator[Listed | str]:
    if priced.problem:
        yield priced.problem
        return
    key = f"maxGpuCount{priced.cloud.capitalize()}Cloud"
    most = (item.count(key) if item.has(key) else None) or 1
    memory = item.number("memoryInGb")
    for gpus in (size for size in _SIZES if size <= most):
        yield Listed(
            provider="runpod",
            instance=f"{item.text('id')} {priced.cloud} x{gpus}",
            gpu_name=item.text("displayName") or item.text("id"),
            gpu_count=Decimal(gpus),
            gpu_memory_bytes=Bytes(int(memory * GB)) if memory else None,
            hints=(item.text("id"),),
            term=priced.term,
            price=priced.each * gpus,
            hours_per_unit=priced.hours,
            more={"verified": priced.cloud == "secure"},
        )
