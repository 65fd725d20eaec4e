"""Our side of the seeds' figures about money, by the product's own functions."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Final

from caudal.fit.rules_of_thumb import PricedMemory, cheapest_holding
from caudal.offers.bundled import bundled_offers
from caudal.offers.offer import Offer, Term
from caudal.offers.price import (
    break_even_hours,
    hourly_bases,
    tokens_within,
    usd_per_million_tokens,
)
from caudal.plan.budget import Budget, DailyDemand, daily_budget, sensitivity
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import TB, Bytes, TokensPerSecond
from golden.seeds.our_sizes import envelope_gb, gpu

READ_ON: Final = date(2026, 11, 30)
HUB: Final = "gpu-rent-hub"
MARKET: Final = "everxcloud"


@cache
def offers_of(provider: str, term: Term) -> tuple[Offer, ...]:
    book = bundled_offers(today=READ_ON)
    return tuple(
        offer for offer in book.offers if offer.provider == provider and offer.term is term
    )


def offered(provider: str, term: Term, gpu_id: str, gpus: int) -> Offer:
    """Return the offer; regions ask one price, so any of them will do."""
    found = [
        offer
        for offer in offers_of(provider, term)
        if offer.gpu_id == gpu_id and offer.gpu_count == gpus
    ]
    assert len({offer.price for offer in found}) == 1, f"{gpus} x {gpu_id}: {found}"
    return found[0]


def market_usd_per_hour(gpu_id: str) -> float:
    return float(offered(MARKET, Term.HOURLY, gpu_id, 1).price_usd_per_gpu_hour)


def hub_usd_per_month(gpu_id: str, gpus: str) -> float:
    return float(offered(HUB, Term.MONTHLY, gpu_id, int(gpus)).price)


def hub_usd_per_week(gpu_id: str, gpus: str) -> float:
    return float(offered(HUB, Term.WEEKLY, gpu_id, int(gpus)).price)


def hub_usd_per_gpu_hour(gpu_id: str, gpus: str) -> float:
    return float(offered(HUB, Term.MONTHLY, gpu_id, int(gpus)).price_usd_per_gpu_hour)


def hub_usd_per_hour(gpu_id: str, gpus: str) -> float:
    return float(hourly_bases(offered(HUB, Term.MONTHLY, gpu_id, int(gpus)).price).termed)


def hub_price_range() -> str:
    """Return the cheapest and the dearest card's price a month."""
    cards = per_card()
    return f"{min(cards.values()):.0f} {max(cards.values()):.0f}"


@cache
def per_card() -> dict[str, Decimal]:
    """Return each card's monthly list price: of one, or of the minimum before its discount."""
    return {gpu_id: list_price(gpu_id) for gpu_id in {o.gpu_id for o in hub_month()}}


def hub_month() -> tuple[Offer, ...]:
    return offers_of(HUB, Term.MONTHLY)


def list_price(gpu_id: str) -> Decimal:
    fewest = min(
        (offer for offer in hub_month() if offer.gpu_id == gpu_id),
        key=lambda offer: offer.gpu_count,
    )
    return fewest.price / fewest.gpu_count / (1 - discount(fewest.gpu_count))


def discount(gpus: int) -> Decimal:
    """Return the part taken off, read back from a card whose prices are not rounded up."""
    one = offered(HUB, Term.MONTHLY, "l4", 1).price
    return 1 - offered(HUB, Term.MONTHLY, "l4", gpus).price / (one * gpus)


def discounts(*gpus: str) -> str:
    return " ".join(f"{100 * discount(int(count)):.0f}" for count in gpus)


def list_usd_per_month(gpu_id: str, gpus: str) -> float:
    return float(list_price(gpu_id) * int(gpus))


def list_usd_per_gpu_hour(gpu_id: str) -> float:
    return float(hourly_bases(list_price(gpu_id)).termed)


def cheapest_card(billions: str, bits: str, name: str, among: str) -> str:
    """Return the cheapest single card whose nominal memory holds the envelope."""
    cards = [
        PricedMemory(name=gpu_id, memory_bytes=gpu(gpu_id).memory_bytes, price=price)
        for gpu_id, price in per_card().items()
        if among == "any" or (gpu(gpu_id).vendor == "NVIDIA" and gpu(gpu_id).native_fp8)
    ]
    return _named(envelope_gb(billions, bits, name), cards)


def cheapest_node(billions: str, bits: str, name: str, gpus: str) -> str:
    nodes = [node for node in _nodes() if node.name.startswith(f"{gpus}×")]
    return _named(envelope_gb(billions, bits, name), nodes)


def cheapest_cards(billions: str, bits: str, name: str) -> str:
    return _named(envelope_gb(billions, bits, name), _nodes())


def _nodes() -> list[PricedMemory]:
    """Return every number of FP8 cards that divides a model's heads: 1, 2, 4 and 8."""
    return [
        PricedMemory(
            name=f"{offer.gpu_count}×{offer.gpu_id}",
            memory_bytes=Bytes(gpu(offer.gpu_id).memory_bytes * offer.gpu_count),
            price=offer.price,
        )
        for offer in hub_month()
        if gpu(offer.gpu_id).native_fp8 and offer.gpu_count in {1, 2, 4, 8}
    ]


def _named(need_gb: float, choices: list[PricedMemory]) -> str:
    best = cheapest_holding(need_gb * 1e9, choices)
    return "none" if best is None else best.name


def fastest_below(usd: str) -> str:
    affordable = [gpu_id for gpu_id, price in per_card().items() if price < Decimal(usd)]
    return max(affordable, key=lambda gpu_id: gpu(gpu_id).memory_bytes_per_s)


def usd_per_million(gpu_id: str, millions: str) -> float:
    cost = offered(HUB, Term.MONTHLY, gpu_id, 1).price
    return float(usd_per_million_tokens(cost, tokens=int(millions) * 10**6))


def break_even(gpu_id: str, hourly: str) -> float:
    price = offered(HUB, Term.MONTHLY, gpu_id, 1).price
    return float(break_even_hours(price, hourly=Decimal(hourly)))


def egress_tokens_b(bytes_per_token: str) -> float:
    included = offered(HUB, Term.MONTHLY, "l4", 1).included_egress_bytes
    assert included is not None
    return tokens_within(included, bytes_per_token=int(bytes_per_token)) / 1e9


def egress_usd_per_tb() -> float:
    price = offered(HUB, Term.MONTHLY, "l4", 1).egress_usd_per_byte
    assert price is not None
    return float(price * TB)


# 50 million tokens at 1,000 a second, whatever they are: 001 has one throughput for both kinds.
DEMAND: Final = DailyDemand(
    requests_per_day=25_000,
    input_tokens=1_600,
    output_tokens=400,
    input_tokens_per_s=TokensPerSecond(1_000),
    output_tokens_per_s=TokensPerSecond(1_000),
    price_usd_per_gpu_hour=UsdPerHour(Decimal("1.80")),
)


def budget(what: str) -> float:
    """Return one figure of the worked budget of a day."""
    figures: Mapping[str, Callable[[Budget], float | Decimal]] = {
        "gpu_hours": lambda day: day.gpu_hours_per_day,
        "busy_usd": lambda day: day.busy_usd_per_day,
        "rented_usd": lambda day: day.rented_usd_per_day,
    }
    return float(figures[what](daily_budget(DEMAND)))


def budget_with_spare() -> float:
    return float(daily_budget(replace(DEMAND, spare_nodes=1)).rented_usd_per_day)


def budget_swing(what: str) -> float:
    """Return the dollars a day by which twice of one thing moves the cost."""
    swings = {swing.what: swing for swing in sensitivity(DEMAND, factors=[2.0])}
    return float(swings[f"{what} tokens"].busy_usd_per_day_change)


PRICES: Final[Mapping[str, Callable[..., float | str]]] = {
    rule.__name__: rule
    for rule in (
        market_usd_per_hour, hub_usd_per_month, hub_usd_per_week, hub_usd_per_gpu_hour,
        hub_usd_per_hour, hub_price_range, discounts, list_usd_per_month, list_usd_per_gpu_hour,
        cheapest_card, cheapest_node, cheapest_cards, fastest_below, usd_per_million, break_even,
        egress_tokens_b, egress_usd_per_tb, budget, budget_with_spare, budget_swing,
    )
}  # fmt: skip
