"""What it costs: the bill item by item, what moves it, and where other ways to pay are cheaper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from caudal.documents.budget import BudgetAsked, BudgetDocument, answer_budget
from caudal.facts.models import model_catalogue
from caudal.plan.break_even import BreakEven
from caudal.plan.budget_report import BudgetReport, BudgetWishes
from caudal.plan.report import PlanRow
from caudal.plan.tornado import Tornado
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.quantities import parse_fraction
from caudal.web.asking import DECIDING, answered, plan_asked, question_fields
from caudal.web.charts.bars import Swing, tornado_chart
from caudal.web.charts.lines import Line, Rule, line_chart
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.home import REGIONS, TERMS

MOST_CHOICES: Final = 12  # rows of the plan that can be chosen here


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A break-even with its lines."""

    even: BreakEven
    chart: Markup


def show_cost(page: Page) -> Shown:
    """Return the budget of the plan's row that is asked for."""
    fields = question_fields(page)
    row = page.get("row", "1") or "1"
    values: dict[str, object] = {
        "fields": fields,
        "asked": any(page.get(name) for name in DECIDING),
        "models": model_catalogue().entries,
        "terms": TERMS,
        "term_pairs": [(term.value, page.gettext(name)) for term, name in TERMS.items()],
        "regions": REGIONS,
        "row": row,
        "choices": [],
        "failure": None,
        "document": None,
    }
    try:
        values["choices"] = _choices(page, fields)
        asked = plan_asked(page, fields)
        report, document = answer_budget(
            BudgetAsked(
                model=asked.model,
                traffic=asked.traffic,
                objectives=asked.objectives,
                wishes=asked.wishes,
                query=asked.query,
                money=_wishes(page, row),
                currency=page.get("currency").upper() or None,
            ),
            book=page.services.book(),
            today=page.today,
        )
        values |= _drawn(page, report, document)
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("cost.html", {**values, "failure": failure}, status)
    return Shown("cost.html", values)


def _wishes(page: Page, row: str) -> BudgetWishes:
    if not (row.isascii() and row.isdigit() and int(row[:6]) >= 1):
        raise InvalidQuantityError(
            f"{row[:20]!r} is no row of the plan.", remedy="Give a number from 1."
        )
    share = page.read("utilisation", _share)
    waits = page.read("batch_share", _share)
    return BudgetWishes(
        row=int(row),
        utilisation=1.0 if share is None else share,
        batch_share=waits or 0.0,
    )


def _share(text: str) -> float:
    return parse_fraction(text if text.endswith("%") else f"{text}%", zero_ok=True)


def _choices(page: Page, fields: dict[str, str]) -> list[tuple[str, str]]:
    """Return the first rows of the plan, to choose from."""
    rows: Sequence[PlanRow] = answered(page, fields).report.rows[:MOST_CHOICES]
    return [
        (
            str(row.rank),
            (
                f"{row.rank}: {row.gpus} × {row.gpu.name}, {row.serving.weight_format.name}, "
                f"{row.price.offer.provider}, {page.gettext(TERMS[row.price.offer.term])}"
            ),
        )
        for row in rows
    ]


def _drawn(page: Page, report: BudgetReport, document: BudgetDocument) -> dict[str, object]:
    return {
        "report": report,
        "document": document,
        "tornado": _tornado(page, document.tornado),
        "evens": [Drawn(even=even, chart=_lines(page, even)) for even in document.break_evens],
        "share": document.bill.share_of,
    }


def _tornado(page: Page, tornado: Tornado) -> Markup:
    figures = page.figures
    swings = [
        Swing(
            name=str(page.told(bar.name)) if "<" not in page.told(bar.name) else bar.name,
            low=bar.least_usd,
            high=bar.most_usd,
            low_text=figures.usd(bar.least_usd),
            high_text=figures.usd(bar.most_usd),
        )
        for bar in tornado.bars
    ]
    return tornado_chart(
        swings,
        base=tornado.base_usd,
        title=page.gettext("How far each assumption moves the bill"),
        x_text=lambda value: figures.usd(value, 0),
    )


def _lines(page: Page, even: BreakEven) -> Markup:
    figures = page.figures

    def said(text: str) -> str:
        shown = page.told(text)
        return text if "<" in shown else str(shown)

    rules = []
    drawn = even.unit.partition(" ")[0] == even.x_title.partition(" ")[0]  # the axis is its unit
    if drawn and even.value is not None:
        rules.append(
            Rule(
                at=even.value,
                label=page.gettext("equal: %(at)s", at=figures.short(even.value)),
            )
        )
    if drawn and even.yours is not None:
        rules.append(Rule(at=even.yours, label=page.gettext("you")))
    return line_chart(
        [Line(name=said(line.name), points=line.points) for line in even.lines],
        title=said(even.name),
        x_title=said(even.x_title),
        y_title=said(even.y_title),
        x_text=figures.short,
        y_text=figures.number,
        log_x=even.log_x,
        log_y=even.log_y,
        rules=rules,
    )
