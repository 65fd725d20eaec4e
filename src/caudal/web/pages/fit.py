"""Will it fit: the memory of a GPU, term by term, as context, users and precision move."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.facts.engines import engines
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.model import ModelSpec
from caudal.facts.models import model_catalogue
from caudal.fit.answer import FitReport
from caudal.fit.fit_rows import FitRow
from caudal.fit.needs import PoolRule
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.quantities import parse_count, parse_tokens
from caudal.vocabulary.units import GIB, Tokens
from caudal.web.asking import model_named
from caudal.web.charts.bars import Part, stacked_bar
from caudal.web.languages import later
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.home import PRECISIONS

TERMS_OF_MEMORY: Final = {
    "weights": later("Weights"),
    "kv cache": later("KV cache"),
    "activation": later("Activations"),
    "cuda graphs": later("CUDA graphs"),
    "other": later("Libraries and driver"),
}
KINDS: Final = {
    "weights": "weights",
    "kv cache": "kv",
    "activation": "activation",
    "cuda graphs": "graphs",
    "other": "other",
}
COUNTS: Final = (1, 2, 4, 8)
MOST_CONTEXT: Final = 131_072  # of the slider; the field takes as much as the model was made for
MOST_USERS: Final = 256
KV_PRECISIONS: Final = ("bf16", "fp8")


def show_fit(page: Page) -> Shown:
    """Return the form with sliders and what it says of one number of one GPU."""
    name = page.get("model", "llama-3.1-70b") or "llama-3.1-70b"
    context = page.get("context", "8192") or "8192"
    users = page.get("concurrency", "8") or "8"
    values: dict[str, object] = {
        "model_name": name,
        "models": model_catalogue().entries,
        "gpus": [(gpu.id, gpu.name) for gpu in gpu_catalogue().all],
        "gpu": page.get("gpu", "h100-sxm"),
        "count": page.get("count", "2"),
        "counts": [(str(count), str(count)) for count in COUNTS],
        "precision": page.get("precision", "native"),
        "precision_pairs": [(item, item) for item in PRECISIONS],
        "kv_pairs": [(item, item) for item in KV_PRECISIONS],
        "engine_pairs": [(item.name, item.title) for item in engines()],
        "context": context,
        "concurrency": users,
        "most_context": MOST_CONTEXT,
        "most_users": MOST_USERS,
        "failure": None,
        "row": None,
    }
    try:
        model = model_named(page, name)
        values["most_context"] = min(MOST_CONTEXT, model.max_context_tokens)
        values |= _answer(page, model, parse_tokens(context), _users(users))
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("fit.html", {**values, "failure": failure}, status)
    return Shown("fit.html", values)


def _users(text: str) -> int:
    count = parse_count(text)
    if not 1 <= count <= 100_000:
        raise InvalidQuantityError(
            f"{count:,} requests at once cannot be meant.", remedy="Give 1 to 100,000."
        )
    return count


def _answer(page: Page, model: ModelSpec, context: Tokens, users: int) -> dict[str, object]:
    gpu = gpu_catalogue().resolve(page.get("gpu", "h100-sxm") or "h100-sxm").specs[0]
    count = page.get("count", "2") or "2"
    asked = FitAsked(
        model=model,
        gpus=(f"{gpu.id}:{count}",),
        precision=page.get("precision", "native") or "native",
        kv_precision=page.get("kv_precision") or None,
        context=context,
        concurrency=users,
        engine=page.get("engine", "vllm") or "vllm",
    )
    answer = answer_fit_question(asked)
    row = answer.report.rows[0]
    return {
        "report": answer.report,
        "row": row,
        "chart": _chart(page, row),
        "terms": _terms(row),
        "labels": TERMS_OF_MEMORY,
        "kinds": KINDS,
        "command": _command(answer.report, row),
        "others": _others(answer.report, asked),
        "notes": answer.notes,
    }


def _terms(row: FitRow) -> Sequence[object]:
    return () if row.memory is None else row.memory.terms


def _chart(page: Page, row: FitRow) -> Markup:
    if row.memory is None:
        return Markup("")
    figures = page.figures
    parts = [
        Part(
            name=page.gettext(TERMS_OF_MEMORY[term.name]),
            size=term.size_bytes.value / GIB,
            kind=KINDS[term.name],
            text=f"{figures.gib(term.size_bytes.value)} GiB",
        )
        for term in row.memory.terms
    ]
    usable, taken = row.memory.usable_bytes, row.memory.memory_fraction
    shared = row.memory.pool_rule == PoolRule.OF_TOTAL.value
    return stacked_bar(
        parts,
        limit=usable / GIB,
        limit_text=page.gettext("usable: %(size)s GiB", size=figures.gib(usable)),
        title=page.gettext("Memory of the fullest GPU, in GiB"),
        unit_text=lambda value: figures.significant(value, 2),
        share=usable * taken / GIB if shared else None,
        share_text=page.gettext(
            "the engine takes %(share)s: %(size)s GiB",
            share=figures.percent(taken),
            size=figures.gib(usable * taken),
        ),
    )


def _command(report: FitReport, row: FitRow) -> str:
    """Return the command that starts the engine so, "" where it does not fit."""
    if not row.flags:
        return ""
    name = report.question.engine.name
    start = {
        "vllm": f"vllm serve {report.question.model.id}",
        "sglang": f"python -m sglang.launch_server --model-path {report.question.model.id}",
        "tensorrt-llm": f"trtllm-serve {report.question.model.id}",
        "llama.cpp": "llama-server -m MODEL.gguf",
    }.get(name, "")
    return " \\\n  ".join([start, *row.flags] if start else list(row.flags))


def _others(report: FitReport, asked: FitAsked) -> list[FitRow]:
    """Return the same load on every other number of the same GPU."""
    question = report.question
    gpu = question.gpus[0].id
    counts = f"{gpu}:{COUNTS[0]}..{COUNTS[-1]}"
    every = FitAsked(
        model=asked.model,
        gpus=(counts,),
        precision=asked.precision,
        kv_precision=asked.kv_precision,
        context=asked.context,
        concurrency=asked.concurrency,
        engine=asked.engine,
    )
    rows = answer_fit_question(every).report.rows
    return [row for row in rows if row.gpus in COUNTS]
