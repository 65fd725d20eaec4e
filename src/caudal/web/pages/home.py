"""The question and its answer: what to rent for a model and its traffic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from caudal.documents.plan import PlanAnswer
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import model_catalogue
from caudal.offers.offer import Term
from caudal.plan.recommend import Recommendation, answer_seconds, recommend
from caudal.plan.report import DerivationStep, GateReport, PlanReport, PlanRow
from caudal.traffic.slo import Metric
from caudal.vocabulary.errors import CaudalError, InvalidInputError
from caudal.web.asking import DECIDING, PRESETS, answered, question_fields
from caudal.web.charts.points import Point, point_chart
from caudal.web.languages import later
from caudal.web.page import Page, Shown, failure_shown

# What people expect to see, because what they read lists these nine (EverXCloud's table).
EXPECTED: Final = (
    *("l4", "rtx-4090", "rtx-5090", "l40s", "rtx-pro-6000-ws"),
    *("a100-80g-sxm", "h100-sxm", "h200-sxm", "mi300x"),
)
LISTED_MOST: Final = 40  # rows drawn before "show all"
PRECISIONS: Final = ("native", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4")
REGIONS: Final = ("us", "eu", "asia", "me", "latam", "oceania", "africa")
SECTIONS: Final = {
    "memory": later("Memory"),
    "speed": later("Speed"),
    "load": later("Load"),
    "price": later("Price"),
}
TERMS: Final = {
    Term.HOURLY: later("hourly"),
    Term.SPOT: later("spot"),
    Term.WEEKLY: later("weekly"),
    Term.MONTHLY: later("monthly"),
    Term.QUARTERLY: later("3 months"),
    Term.HALF_YEARLY: later("6 months"),
    Term.YEARLY: later("1 year"),
    Term.THREE_YEARLY: later("3 years"),
}
FILTERS: Final = ("show_gpu", "show_precision", "show_provider", "show_term")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One recommended plan."""

    title: str
    why: str
    row: PlanRow
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A GPU that people expect, where it stands or why it does not."""

    gpu: GpuSpec
    row: PlanRow | None  # of the plan
    alone: PlanRow | None  # where it serves, but was not among the GPUs asked for
    gate: GateReport | None  # where it falls
    problem: str


def show_home(page: Page) -> Shown:
    """Return the home page: the form, and the answer or what is wrong with the question."""
    fields = question_fields(page)
    asked = any(page.get(name) for name in DECIDING)
    values: dict[str, object] = {
        "fields": fields,
        "asked": asked,
        "models": model_catalogue().entries,
        "presets": [(preset, page.link("/", _preset(page, preset.fields))) for preset in PRESETS],
        "terms": TERMS,
        "term_pairs": [(term.value, page.gettext(name)) for term, name in TERMS.items()],
        "precision_pairs": [(name, name) for name in PRECISIONS],
        "regions": REGIONS,
        "failure": None,
        "answer": None,
    }
    try:
        answer = answered(page, fields)
        values |= _answer_values(page, answer)
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("home.html", {**values, "failure": failure}, status)
    if answer.error is None:
        return Shown("home.html", values)
    failure, status = failure_shown(answer.error)
    return Shown("home.html", {**values, "failure": failure}, status)


def _preset(page: Page, fields: object) -> list[tuple[str, object]]:
    """Return the address of a preset: it keeps the model and all wishes."""
    assert hasattr(fields, "items"), "a preset names fields"
    changed = dict(fields.items())
    replaced = {*changed, "load", "amount", "input", "output", "ttft_p95", "tpot_p95"}
    model = page.get("model") or "llama-3.1-70b"
    kept = [(n, v) for n, v in page.query if n in DECIDING and n not in replaced and n != "model"]
    return [("model", model), *kept, *changed.items()]


def _answer_values(page: Page, answer: PlanAnswer) -> dict[str, object]:
    report = answer.report
    chosen = recommend(report)
    rows = _filtered(page, report.rows)
    listed = rows if page.get("all") else rows[:LISTED_MOST]
    explained = _explained(page, report)
    return {
        "answer": answer,
        "report": report,
        "cards": list(_cards(page, report, chosen)) if chosen else [],
        "rows": listed,
        "rows_found": len(rows),
        "choices": _choices(page, report.rows),
        "chart": _chart(page, report, rows, chosen) if chosen else Markup(""),
        "expected": _expected(page, report),
        "explained": explained,
        "steps": [] if explained is None else _steps(report, explained),
        "sections": SECTIONS,
        "latency": _latency,
        "seconds": lambda row: answer_seconds(row, report.workload),
    }


def _cards(page: Page, report: PlanReport, chosen: Recommendation) -> Iterator[Card]:
    for title, why, row in (
        (
            page.gettext("Cheapest"),
            page.gettext("the lowest bill that keeps every bound"),
            chosen.cheapest,
        ),
        (
            page.gettext("Balanced"),
            page.gettext("the best trade between bill and waiting"),
            chosen.balanced,
        ),
        (page.gettext("Fastest"), page.gettext("the soonest whole answer"), chosen.fastest),
    ):
        yield Card(
            title=title,
            why=why,
            row=row,
            seconds=answer_seconds(row, report.workload),
        )


def _filtered(page: Page, rows: Sequence[PlanRow]) -> list[PlanRow]:
    """Return the rows that the filters above the table let through."""
    gpu, precision, provider, term = (page.get(name) for name in FILTERS)
    return [
        row
        for row in rows
        if (not gpu or row.gpu.id == gpu)
        and (not precision or row.serving.weight_format.name == precision)
        and (not provider or row.price.offer.provider == provider)
        and (not term or row.price.offer.term.value == term)
    ]


def _choices(page: Page, rows: Sequence[PlanRow]) -> dict[str, list[tuple[str, str]]]:
    """Return what each filter can be set to, as value and text."""
    gpus = {row.gpu.id: row.gpu.name for row in rows}
    return {
        "show_gpu": sorted(gpus.items(), key=lambda pair: pair[1]),
        "show_precision": [
            (name, name) for name in sorted({row.serving.weight_format.name for row in rows})
        ],
        "show_provider": [
            (name, name) for name in sorted({row.price.offer.provider for row in rows})
        ],
        "show_term": [
            (term.value, page.gettext(TERMS[term]))
            for term in Term
            if any(row.price.offer.term is term for row in rows)
        ],
    }


def _latency(row: PlanRow, metric: str) -> object:
    """Return the predicted percentile of one metric, the one that was asked for first."""
    wanted = Metric(metric)
    return next(item for item in row.operation.latencies if item.metric is wanted)


def _chart(
    page: Page, report: PlanReport, rows: Sequence[PlanRow], chosen: Recommendation
) -> Markup:
    labels = {
        chosen.fastest.rank: page.gettext("Fastest"),
        chosen.balanced.rank: page.gettext("Balanced"),
        chosen.cheapest.rank: page.gettext("Cheapest"),
    }
    front = {row.rank for row in chosen.front}
    points = [
        Point(
            x=float(row.price.full.usd),
            y=float(answer_seconds(row, report.workload)),
            name=f"{row.rank}: {row.gpus} × {row.gpu.name}, {row.serving.weight_format.name}, "
            f"{row.price.offer.provider}",
            kind="front" if row.rank in front else "",
            label=labels.get(row.rank, ""),
        )
        for row in rows
    ]
    return point_chart(
        points,
        title=page.gettext("Price a month against the time until a whole answer has come"),
        x_title=page.gettext("US$ a month"),
        y_title=page.gettext("seconds until the whole answer, p95"),
        x_text=page.figures.number,
        y_text=lambda value: page.figures.significant(value, 2),
    )


def _expected(page: Page, report: PlanReport) -> list[Expected]:
    """Return where each expected GPU stands; the others come when they are asked for."""
    wanted = page.get("why_not")
    names = [*EXPECTED, wanted] if wanted and wanted not in EXPECTED else list(EXPECTED)
    best: dict[str, PlanRow] = {}
    for row in report.rows:
        best.setdefault(row.gpu.id, row)
    found = []
    for gpu_id in names:
        gpu, first = gpu_catalogue().get(gpu_id), best.get(gpu_id)
        if first is None and gpu_id == wanted:
            found.append(_why_not(page, gpu))
        else:
            found.append(Expected(gpu=gpu, row=first, alone=None, gate=None, problem=""))
    return found


def _why_not(page: Page, gpu: GpuSpec) -> Expected:
    """Return the gate at which one GPU falls: the same question, of this GPU alone."""
    fields = {**question_fields(page), "gpu": gpu.id}
    try:
        report = answered(page, fields).report
    except CaudalError as error:
        return Expected(gpu=gpu, row=None, alone=None, gate=None, problem=error.problem)
    alone = next(iter(report.rows), None)
    gate = None if alone is not None else report.binding_gate or _last_fall(report)
    return Expected(gpu=gpu, row=None, alone=alone, gate=gate, problem="")


def _last_fall(report: PlanReport) -> GateReport | None:
    """Return the last gate at which something fell: what came farthest came so far."""
    return next((gate for gate in reversed(report.gates) if gate.fell and gate.nearest), None)


def _explained(page: Page, report: PlanReport) -> PlanRow | None:
    """Return the row whose derivation is asked for.

    Raises:
        InvalidInputError: there is no such row.
    """
    text = page.get("explain")
    if not text:
        return None
    row = next((row for row in report.rows if str(row.rank) == text), None)
    if row is None:
        raise InvalidInputError(
            f"There is no row {text[:20]} to explain: the plan has {len(report.rows)}.",
            remedy="Choose a row of the table.",
        )
    return row


def _steps(report: PlanReport, row: PlanRow) -> list[tuple[str, list[DerivationStep]]]:
    from caudal.plan.derivation import explain_row  # noqa: PLC0415  # only where it is asked for

    steps = explain_row(report, row)
    return [(section, [step for step in steps if step.section == section]) for section in SECTIONS]
