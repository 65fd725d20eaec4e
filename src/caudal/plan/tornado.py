"""Which assumption moves the bill most: one thing changed at a time, the rest settled anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from caudal.facts.precisions import weight_format
from caudal.facts.support import weight_support
from caudal.offers.offer import Offer, Term
from caudal.plan.position import Bill, Position, settled
from caudal.plan.shapes import usual_weight_formats
from caudal.plan.spot_tier import SpotRisk
from caudal.traffic.workload import Workload
from caudal.vocabulary.units import RequestsPerSecond, Tokens

# Half and twice: what people misjudge lengths and traffic by. Chosen; seed 001 varies the same.
_FACTORS: Final = (0.5, 2.0)
# List prices that two of our sources saw 105 days apart had moved by at most 16 %; rental rates
# of H200 and B200 rose by 41 and 42 % in about a year (SemiAnalysisAI/InferenceX-app#1071).
PRICE_FACTORS: Final = (Decimal("0.84"), Decimal("1.42"))
_UTILISATION_FACTORS: Final = (0.7, 1.3)  # chosen; never above 100 %
_LIFE_FACTORS: Final = (0.25, 4.0)  # chosen: of the life of a spot instance


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a bar."""

    label: str  # what was assumed
    usd: float | None  # in the period; None: it cannot be served so on this card at these offers
    gpu_hours_per_day: float | None  # that are worked


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One assumption at two values, the base between them or at one of them."""

    name: str
    base_label: str
    base_usd: float
    ends: tuple[End, ...]

    @property
    def least_usd(self) -> float:
        """Return the cheapest of both ends and the base."""
        return min([self.base_usd, *self._known()])

    @property
    def most_usd(self) -> float:
        """Return the dearest of both ends and the base."""
        return max([self.base_usd, *self._known()])

    @property
    def swing_usd(self) -> float:
        """Return how far the bill moves."""
        return self.most_usd - self.least_usd

    def _known(self) -> list[float]:
        return [end.usd for end in self.ends if end.usd is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tornado:
    """All bars, the longest first, and what follows."""

    base_usd: float  # in the period
    period: str  # such as "a month"
    bars: tuple[Bar, ...]

    def share(self, bar: Bar) -> float:
        """Return the part of all swings that one bar makes."""
        total = sum(other.swing_usd for other in self.bars)
        return bar.swing_usd / total if total else 0.0

    @property
    def sentence(self) -> str:
        """Return which assumption moves the answer most, in one sentence."""
        first = self.bars[0]
        if not first.swing_usd:
            return "None of these changes the bill: the smallest deployment carries them all."
        return (
            f"{first.name.capitalize()} moves the bill most: from ${first.least_usd:,.0f} to "
            f"${first.most_usd:,.0f} {self.period}, {self.share(first):.0%} of all swings."
        )


def tornado(base: Bill, offers: Sequence[Offer], *, spot: Offer | None, risk: SpotRisk) -> Tornado:
    """Return the bars of a bill; `offers` are those that the rest may be settled on.

    Layout, replicas and instance size are chosen anew at each end, the card, provider and term
    are kept. `spot` is the interruptible offer of the same card, None where none is known.
    """
    bars = [
        *_load_bars(base, offers),
        *_precision_bars(base, offers),
        _price_bar(base),
        *_spot_bars(base, spot, risk),
    ]
    return Tornado(
        base_usd=base.usd,
        period=base.period,
        bars=tuple(sorted(bars, key=lambda bar: -bar.swing_usd)),
    )


def _load_bars(base: Bill, offers: Sequence[Offer]) -> Iterator[Bar]:
    position = base.position
    load = position.workload
    yield _bar(
        "context", f"{load.input_tokens:,} tokens in", base,
        [_end(f"{round(load.input_tokens * f):,} in", position, offers, _longer(load, f, 1.0))
         for f in _FACTORS],
    )  # fmt: skip
    yield _bar(
        "output length", f"{load.output_tokens:,} tokens out", base,
        [_end(f"{round(load.output_tokens * f):,} out", position, offers, _longer(load, 1.0, f))
         for f in _FACTORS],
    )  # fmt: skip
    amount = "users" if load.users is not None else "rate"
    yield _bar(
        amount, "as asked", base,
        [_end(f"x {f:g}", position, offers, _busier(load, f)) for f in _FACTORS],
    )  # fmt: skip
    ends = []
    for factor in _UTILISATION_FACTORS:
        share = min(1.0, position.utilisation * factor)
        if share == position.utilisation:
            continue
        changed = replace(position, utilisation=share)
        ends.append(_end(f"{share:.0%}", changed, offers, load))
    yield _bar("utilisation", f"{position.utilisation:.0%}", base, ends)


def _precision_bars(base: Bill, offers: Sequence[Offer]) -> Iterator[Bar]:
    """Yield the dearest and the cheapest other precision that the card runs."""
    position = base.position
    now = position.serving.weight_format
    ends = []
    for name in usual_weight_formats(position.model, position.serving.engine):
        other = weight_format(name)
        support = weight_support(position.gpu, other, position.serving.engine)
        if name == now.name or not support.runs:
            continue
        changed = replace(position, serving=replace(position.serving, weight_format=other))
        ends.append(_end(name, changed, offers, position.workload))
    known = [end for end in ends if end.usd is not None]
    known.sort(key=lambda end: end.usd or 0.0)
    if known:
        yield _bar("precision", now.name, base, [known[0], *known[1:][-1:]])


def _price_bar(base: Bill) -> Bar:
    ends = []
    for factor in PRICE_FACTORS:
        offer = base.position.offer
        each = type(offer.price_usd_per_gpu_hour)(offer.price_usd_per_gpu_hour * factor)
        dearer = replace(offer, price=offer.price * factor, price_usd_per_gpu_hour=each)
        ends.append(_end(f"{factor - 1:+.0%}", replace(base.position, offer=dearer), (), None))
    label = f"${base.position.offer.price_usd_per_gpu_hour:,.2f} a GPU-hour"
    return _bar("price", label, base, ends)


def _spot_bars(base: Bill, spot: Offer | None, risk: SpotRisk) -> Iterator[Bar]:
    """Yield the bill on interruptible instances of short and of long life."""
    if spot is None:
        return
    bill = settled(replace(base.position, offer=spot), ())
    if bill is None:
        return
    ends = []
    for factor in _LIFE_FACTORS:
        lived = replace(risk, life_s=type(risk.life_s)(risk.life_s * factor))
        share = lived.useful_share
        ends.append(
            End(
                label=f"spot, {lived.life_s / 3600:,.0f} h life",
                usd=bill.usd / share if share else None,
                gpu_hours_per_day=bill.day.gpu_hours_worked / share if share else None,
            )
        )
    is_spot = base.position.offer.term is Term.SPOT
    yield _bar("spot loss", "without loss" if is_spot else "on demand", base, ends)


def _end(label: str, position: Position, offers: Sequence[Offer], load: Workload | None) -> End:
    """Return the bill of a changed position; a load of None keeps the position's own."""
    moved = position if load is None else replace(position, workload=load)
    bill = None
    if moved.workload.longest_tokens <= moved.model.max_context_tokens:
        bill = settled(moved, offers)
    return End(
        label=label,
        usd=None if bill is None else bill.usd,
        gpu_hours_per_day=None if bill is None else bill.day.gpu_hours_worked,
    )


def _bar(name: str, base_label: str, base: Bill, ends: list[End]) -> Bar:
    return Bar(
        name=name,
        base_label=base_label,
        base_usd=base.usd,
        ends=tuple(ends),
    )


def _longer(load: Workload, input_factor: float, output_factor: float) -> Workload:
    return replace(
        load,
        input_tokens=Tokens(max(1, round(load.input_tokens * input_factor))),
        output_tokens=Tokens(max(1, round(load.output_tokens * output_factor))),
    )


def _busier(load: Workload, factor: float) -> Workload:
    def scaled(rate: RequestsPerSecond | None) -> RequestsPerSecond | None:
        return None if rate is None else RequestsPerSecond(rate * factor)

    users = None if load.users is None else max(1, round(load.users * factor))
    return replace(load, rate=scaled(load.rate), mean_rate=scaled(load.mean_rate), users=users)
