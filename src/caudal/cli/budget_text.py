"""A budget as text: the money, the bill, what moves it, and what to do instead."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from caudal.cli.figures import figure
from caudal.cli.plan_text import layout_text, precision_text, workload_text
from caudal.cli.table import Column, bullets, render_pairs, render_table, wrap_text
from caudal.documents.budget import BudgetDocument
from caudal.plan.break_even import BreakEven
from caudal.plan.cost import FullPrice
from caudal.plan.redundancy import Redundancy
from caudal.plan.spot_tier import Mix
from caudal.plan.tornado import Bar, End, Tornado
from caudal.vocabulary.formats import format_count, format_money
from caudal.vocabulary.money import cents

_BAR: Final = "█"
_BASE: Final = "┃"
_NARROWEST_BAR: Final = 12  # chosen: below that a bar says nothing
_WIDEST_BAR: Final = 48

BILL_COLUMNS: Final = (
    Column(title="item", wraps=True),
    Column(title="quantity", numeric=True),
    Column(title="unit", wraps=True),
    Column(title="$/unit", numeric=True),
    Column(title="$", numeric=True),
    Column(title="share", numeric=True, priority=80),
    Column(title="basis", wraps=True, priority=70),
)
TORNADO_COLUMNS: Final = (
    Column(title="assumption", wraps=True),
    Column(title="as asked", wraps=True),
    Column(title="at one end", wraps=True),
    Column(title="at the other", wraps=True),
    Column(title="moves $", numeric=True),
    Column(title="share", numeric=True),
)
SPARE_COLUMNS: Final = (
    Column(title="way"),
    Column(title="instances", numeric=True),
    Column(title="whole", unit="of the time", numeric=True),
    Column(title="not whole", unit="min/month", numeric=True),
    Column(title="$", numeric=True),
    Column(title="more $", numeric=True),
)
EVEN_COLUMNS: Final = (
    Column(title="question", wraps=True),
    Column(title="break-even", numeric=True),
    Column(title="yours", numeric=True),
    Column(title="unit", wraps=True),
)


def budget_text(document: BudgetDocument, *, width: int) -> Iterator[tuple[str, str]]:
    """Yield the sections of the answer, each with its heading ("" where it needs none)."""
    period = document.use.period_text
    yield "", _question(document, width=width)
    yield "From tokens to money", render_pairs(list(_money_pairs(document)), width=width)
    yield f"The bill {period}", bill_text(document.bill, width=width)
    yield "What moves it", tornado_text(document.tornado, width=width)
    yield "Break-evens", break_even_text(document.break_evens, width=width)
    yield "Redundancy", _redundancy_text(document, width=width)
    mixes = _mix_text(document.mix, document.mix_curve)
    if mixes:
        yield "Live and batch", bullets(mixes, width=width)
    reasons = [f"{advice.name}: {advice.sentence}" for advice in document.advice]
    none = ["nothing speaks against this deployment in this use"]
    yield "When not to rent this", bullets(reasons or none, width=width)
    if document.not_known:
        said = [f"not known: {name}" for name in document.not_known]
        yield "Not known, so in no figure", bullets(said, width=width)
    if document.notes:
        yield "Notes", bullets(list(dict.fromkeys(document.notes)), width=width)
    yield "Assumed", bullets(list(dict.fromkeys(document.assumptions)), width=width)


def bill_text(bill: FullPrice, *, width: int) -> str:
    """Return the items as a table with their sum."""
    rows = [
        [
            item.name,
            _amount(item.quantity),
            item.unit,
            _price(item.usd_per_unit),
            f"{cents(item.usd):,}",
            f"{bill.share_of(item):.0%}",
            item.basis,
        ]
        for item in bill.items
    ]
    rows.append(["in all", "", "", "", f"{cents(bill.usd):,}", "100%", ""])
    return render_table(BILL_COLUMNS, rows, width=width)


def tornado_text(tornado: Tornado, *, width: int) -> str:
    """Return the bars, then the table of what was assumed at their ends."""
    label = max(len(bar.name) for bar in tornado.bars)
    room = min(max(width - label - 30, _NARROWEST_BAR), _WIDEST_BAR)
    lines = wrap_text(tornado.sentence, width)
    lines += [_bar_line(bar, tornado, label=label, room=room) for bar in tornado.bars]
    rows = [
        [
            bar.name,
            bar.base_label,
            *(_end_text(end) for end in bar.ends),
            *[""] * (2 - len(bar.ends)),
            f"{bar.swing_usd:,.0f}",
            f"{tornado.share(bar):.0%}",
        ]
        for bar in tornado.bars
    ]
    return "\n".join([*lines, "", render_table(TORNADO_COLUMNS, rows, width=width)])


def break_even_text(evens: Sequence[BreakEven], *, width: int) -> str:
    """Return every break-even as numbers, then as a sentence."""
    if not evens:
        return "none: there is nothing known to compare with"
    rows = [[even.name, _maybe(even.value), _maybe(even.yours), even.unit] for even in evens]
    table = render_table(EVEN_COLUMNS, rows, width=width)
    return f"{table}\n{bullets([even.sentence for even in evens], width=width)}"


def _question(document: BudgetDocument, *, width: int) -> str:
    row, price = document.row, document.row.price
    said = (
        f"{document.model.id}; {workload_text(document.workload)}; plan row {row.rank}: "
        f"{document.replicas * row.serving.layout.gpus} x {row.gpu.name}, {precision_text(row)}, "
        f"{layout_text(row)}, {price.offer.provider} {price.offer.region} "
        f"{price.offer.term.value}"
    )
    return "\n".join(wrap_text(said, width))


def _money_pairs(document: BudgetDocument) -> Iterator[tuple[str, str]]:
    day, money, tokens = document.day, document.money, document.tokens
    per_hour = day.requests_per_gpu_hour
    yield (
        "tokens a day",
        (
            f"{format_count(day.input_tokens)} in, {format_count(day.output_tokens)} out "
            f"({format_count(day.requests)} requests)"
        ),
    )
    yield (
        "GPU-hours a day",
        (
            f"{figure(day.gpu_hours_worked)} worked at {figure(per_hour)} requests a GPU-hour, "
            f"{figure(day.gpu_hours_rented)} rented: {document.utilisation:.0%} used"
        ),
    )
    mean = ""
    if money.usd_per_mean_month != money.usd_per_month:
        mean = f" of {document.bill.month_hours:f} h, {_usd(money.usd_per_mean_month)} of 730 h"
    yield (
        "money",
        (
            f"{_usd(money.usd_per_day)} a day, {_usd(money.usd_per_month)} a month{mean}, "
            f"{_usd(money.usd_per_year)} a year"
        ),
    )
    if document.use.days is not None:
        yield "the period", f"{_usd(money.usd)} {document.use.period_text}"
    if money.other is not None:
        other = money.other
        yield (
            "in other money",
            (
                f"{cents(other.amount):,} {other.currency} {document.use.period_text} at "
                f"${other.usd_per_unit:f} a {other.currency}, {other.rate_on} ({other.source})"
            ),
        )
    yield (
        "a million tokens",
        (
            f"{_per_million(tokens.input_usd_per_million)} in, "
            f"{_per_million(tokens.output_usd_per_million)} out, "
            f"{_per_million(tokens.usd_per_million)} both"
        ),
    )


def _bar_line(bar: Bar, tornado: Tornado, *, label: int, room: int) -> str:
    low = min(one.least_usd for one in tornado.bars)
    high = max(one.most_usd for one in tornado.bars)
    span = (high - low) or 1.0

    def at(usd: float) -> int:
        return round((usd - low) / span * (room - 1))

    cells = [" "] * room
    for cell in range(at(bar.least_usd), at(bar.most_usd) + 1):
        cells[cell] = _BAR
    cells[at(bar.base_usd)] = _BASE
    ends = f"{bar.least_usd:,.0f} – {bar.most_usd:,.0f}"
    return f"{bar.name:<{label}}  {''.join(cells)}  {ends}"


def _redundancy_text(document: BudgetDocument, *, width: int) -> str:
    rows = [_spare_cells(row) for row in document.redundancies]
    table = render_table(SPARE_COLUMNS, rows, width=width)
    return "\n".join([table, *wrap_text(document.redundancy_sentence, width)])


def _spare_cells(row: Redundancy) -> list[str]:
    return [
        row.name,
        f"{row.needed + row.spares:,}",
        f"{row.availability:.5%}",
        figure(row.down_minutes_per_month),
        f"{row.usd:,.0f}",
        f"{row.more_usd:,.0f}",
    ]


def _mix_text(mix: Mix | None, curve: Sequence[Mix]) -> list[str]:
    said = []
    if mix is not None:
        said.append(
            f"{mix.batch_share:.0%} of the traffic can wait: {mix.live_instances} on demand and "
            f"{figure(mix.spot_instance_hours_per_day)} spot instance-hours a day cost "
            f"${mix.mix_usd_per_month:,.0f} a month against "
            f"${mix.all_on_demand_usd_per_month:,.0f} all on demand: "
            f"{_saved(mix.saves_usd_per_month)}."
        )
    half = next((one for one in curve if one.batch_share == 0.5), None)
    if half is not None:
        said.append(
            f"if half of the traffic could wait: ${half.mix_usd_per_month:,.0f} against "
            f"${half.all_on_demand_usd_per_month:,.0f} a month, "
            f"{_saved(half.saves_usd_per_month)} (--batch-share)"
        )
    return said


def _saved(usd: float) -> str:
    return f"saves ${usd:,.0f}" if usd >= 0 else f"costs ${-usd:,.0f} more"


def _end_text(end: End) -> str:
    return f"{end.label}: " + ("does not serve" if end.usd is None else f"${end.usd:,.0f}")


def _maybe(value: float | None) -> str:
    if value is None:
        return "never"
    return format_count(value) if value >= 1e6 else figure(value)


def _usd(amount: Decimal) -> str:
    return f"${cents(amount):,}"


def _per_million(amount: float) -> str:
    return format_money(Decimal(str(round(amount, 6))))


def _amount(quantity: Decimal) -> str:
    return f"{quantity:,.2f}".rstrip("0").rstrip(".")


def _price(usd: Decimal) -> str:
    return f"{usd:,.4f}".rstrip("0").rstrip(".")
