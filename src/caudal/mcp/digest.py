"""Answers cut to what a language model can use: figures with units in their names, no nesting.

The documents of `--json` hold every term of every row; a context window should not.
"""

from caudal.documents.budget import BudgetDocument
from caudal.documents.fit import FitAnswer
from caudal.documents.offers import OfferDocument
from caudal.documents.plan import PlanAnswer
from caudal.documents.values import Json, json_value
from caudal.fit.answer import FitRow
from caudal.plan.report import PlanRow
from caudal.vocabulary.errors import CaudalError
from caudal.vocabulary.estimate import Estimate
from caudal.vocabulary.units import GIB

MOST_FIT_ROWS = 24  # chosen: some 4,000 tokens


def fit_digest(answer: FitAnswer) -> dict[str, Json]:
    """Return the verdicts, the smallest choice that fits, and what was assumed."""
    report = answer.report
    question = report.question
    shown = report.rows[:MOST_FIT_ROWS]
    return {
        "model": question.model.id,
        "weight_format": question.weight_format.name,
        "kv_format": question.kv_format.name,
        "engine": f"{question.engine.title} {question.engine.versions}",
        "context_tokens": question.context_tokens,
        "concurrency": question.concurrency,
        "smallest_that_fits": None if report.smallest is None else _fit_row(report.smallest),
        "rows": [_fit_row(row) for row in shown],
        "rows_left_out": len(report.rows) - len(shown),
        "assumptions": json_value([*report.assumptions, *answer.notes]),
        "error": _error(answer.error),
    }


def plan_digest(answer: PlanAnswer) -> dict[str, Json]:
    """Return the ranked rows, what was assumed, and where the others fell."""
    report = answer.report
    return {
        "model": report.model.id,
        "rows": [_plan_row(row) for row in report.rows],
        "fell": {gate.gate.value: gate.fell for gate in report.gates if gate.fell},
        "nearest_misses": [
            f"{gate.gate.value}: {gate.nearest.candidate}: {gate.nearest.reason}"
            for gate in report.gates
            if gate.nearest
        ],
        "assumptions": json_value(report.assumptions),
        "notes": json_value(report.notes),
        "error": _error(answer.error),
    }


def offers_digest(document: OfferDocument) -> dict[str, Json]:
    """Return the offers, each on one line of figures."""
    return {
        "found": document.found,
        "today": document.today.isoformat(),
        "offers": [
            {
                "gpu": item.offer.gpu_id,
                "gpus": item.offer.gpu_count,
                "usd_per_gpu_hour": json_value(item.offer.price_usd_per_gpu_hour),
                "usd_per_hour": json_value(item.usd_per_hour),
                "provider": item.offer.provider,
                "via": item.offer.via,
                "instance": item.offer.instance,
                "region": item.offer.region,
                "term": item.offer.term.value,
                "age_days": item.age_days,
            }
            for item in document.offers
        ],
        "notes": json_value(document.notes),
    }


def budget_digest(document: BudgetDocument) -> dict[str, Json]:
    """Return the bill, what moves it, where other ways of paying break even, and the advice."""
    return {
        "model": document.model.id,
        "deployment": _plan_row(document.row),
        "usd_per_day": json_value(document.money.usd_per_day),
        "usd_per_month": json_value(document.money.usd_per_month),
        "usd_per_year": json_value(document.money.usd_per_year),
        "utilisation_of_rented_hours": round(document.utilisation, 3),
        "what_moves_it": document.tornado_sentence,
        "redundancy": document.redundancy_sentence,
        "break_evens": [even.sentence for even in document.break_evens],
        "advice": [item.sentence for item in document.advice],
        "assumptions": json_value(document.assumptions),
        "not_known": json_value(document.not_known),
        "notes": json_value(document.notes),
    }


def _fit_row(row: FitRow) -> dict[str, Json]:
    found: dict[str, Json] = {"gpu": row.gpu_id, "gpus": row.gpus, "verdict": row.verdict.value}
    if row.reason:
        found["reason"] = row.reason
    if row.memory is not None:
        memory = row.memory
        found |= {
            "usable_gib": round(memory.usable_bytes / GIB, 2),
            "needs_gib": {
                term.name: round(term.size_bytes.value / GIB, 2) for term in memory.terms
            },
            "kv_pool_gib": round(memory.kv_pool_bytes.value / GIB, 2),
            "most_requests_at_once": _rounded(memory.max_concurrency),
            "longest_context_tokens": _rounded(memory.longest_context),
        }
    if row.mends:
        found["would_help"] = [mend.change for mend in row.mends]
    return found


def _plan_row(row: PlanRow) -> dict[str, Json]:
    price, layout = row.price, row.serving.layout
    return {
        "rank": row.rank,
        "gpu": row.gpu.id,
        "gpus": row.gpus,
        "replicas": row.operation.replicas,
        "layout": f"TP{layout.tensor} PP{layout.pipeline}",
        "weight_format": row.serving.weight_format.name,
        "kv_format": row.serving.kv_format.name,
        "engine": row.serving.engine.name,
        "latencies_s": {item.label: _figures(item.seconds) for item in row.operation.latencies},
        "largest_requests_per_s": _figures(row.operation.largest_rate),
        "usd_per_month": json_value(price.usd_per_month),
        "usd_per_million_tokens": f"{price.usd_per_million_tokens:.4g}",
        "provider": price.offer.provider,
        "region": price.offer.region,
        "term": price.offer.term.value,
        "price_age_days": price.age_days,
        "warnings": json_value(row.warnings),
    }


def _figures(estimate: Estimate) -> Json:
    """Return value, range and basis, to three digits."""
    shown = {
        name: json_value(float(f"{getattr(estimate, name):.3g}"))
        for name in ("value", "low", "high")
    }
    return {**shown, "basis": estimate.basis.value}


def _rounded(estimate: Estimate) -> Json:
    return json_value(float(round(estimate.low, 1)) if estimate.low < float("inf") else None)


def _error(error: CaudalError | None) -> Json:
    if error is None:
        return None
    return {"code": error.code, "problem": error.problem, "remedy": error.remedy}
