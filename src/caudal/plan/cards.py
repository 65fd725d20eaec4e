"""FP8 on a newer card against BF16 on twice as many older ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.precisions import weight_format
from caudal.facts.support import weight_support
from caudal.offers.offer import Offer, Term
from caudal.plan.break_even import BreakEven, Contender, newer_against_older
from caudal.plan.position import Position
from caudal.plan.single import candidate_of

# GPUs of the newer card's replica; the older one has twice as many, at most a node of eight.
_NEWER_SIZES: Final = (1, 2, 4)


def card_break_even(
    position: Position, offers: Mapping[GpuSpec, Sequence[Offer]]
) -> Iterator[BreakEven]:
    """Yield one comparison: the smallest FP8 replica on newer cards, BF16 on twice as many older.

    Newer are cards that multiply FP8 natively. Of each kind the one that does most for its price
    is taken. Nothing is yielded where one of them does not serve or has no hourly offer.
    """
    rate = position.workload.rate
    if rate is None:
        return
    for size in _NEWER_SIZES:
        newer = _best(position, offers, size=size, stored="fp8", native=True)
        older = _best(position, offers, size=2 * size, stored="bf16", native=False)
        if newer is not None and older is not None:
            name = f"FP8 on {size} newer against BF16 on {2 * size} older"
            yield newer_against_older(newer, older, rate=rate, name=name)
            return


def hourly_offers(
    offers: Sequence[Offer], all_gpus: Sequence[GpuSpec]
) -> dict[GpuSpec, list[Offer]]:
    """Return the hourly offers of each GPU: cards are compared by what an hour costs."""
    specs = {gpu.id: gpu for gpu in all_gpus}
    found: dict[GpuSpec, list[Offer]] = {}
    for offer in offers:
        if offer.term is Term.HOURLY and offer.gpu_id in specs:
            found.setdefault(specs[offer.gpu_id], []).append(offer)
    return found


def _best(
    position: Position,
    offers: Mapping[GpuSpec, Sequence[Offer]],
    *,
    size: int,
    stored: str,
    native: bool,
) -> Contender | None:
    found = [
        contender
        for gpu, listed in offers.items()
        if gpu.native_fp8 is native
        and (contender := _contender(position, gpu, listed, size=size, stored=stored)) is not None
    ]
    return min(found, key=lambda one: one.usd_per_hour / one.largest_rate, default=None)


def _contender(
    position: Position, gpu: GpuSpec, offers: Sequence[Offer], *, size: int, stored: str
) -> Contender | None:
    held = [
        float(offer.usd_per_hour) / (offer.gpu_count // size)
        for offer in offers
        if offer.gpu_count >= size and not offer.is_fraction
    ]
    engine = position.serving.engine
    if not held or not weight_support(gpu, weight_format(stored), engine).runs:
        return None
    serving = replace(
        position.serving, weight_format=weight_format(stored), layout=Layout(tensor=size)
    )
    candidate = candidate_of(
        position.model, serving, gpu, workload=position.workload, slo=position.slo
    )
    if candidate is None:
        return None
    return Contender(
        name=f"{stored} on {size} x {gpu.name}",
        usd_per_hour=min(held),
        gpus=size,
        largest_rate=candidate.largest_rate,
    )
