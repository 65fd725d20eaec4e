"""`caudal fit`: whether a model fits on a GPU, and where its memory goes."""

from dataclasses import dataclass

import click

from caudal.cli.failures import failure_of, print_failure
from caudal.cli.fit_text import fit_sections
from caudal.cli.model_options import (
    HOW_MODELS_ARE_NAMED,
    ModelSummary,
    model_options,
)
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN, LENGTH, SIZE
from caudal.cli.teaching import TaughtCommand
from caudal.documents.failure import ErrorBody
from caudal.facts.engines import engine as engine_of
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.answer import FitQuestion, FitReport, FitRow, answer_fit
from caudal.fit.budget import Verdict
from caudal.vocabulary.errors import ContradictoryOptionsError, DoesNotFitError
from caudal.vocabulary.units import Bytes, Tokens

# Chosen: the context at which most published sizing tables state a KV cache.
USUAL_CONTEXT = Tokens(8192)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitDocument:
    """The verdict for every card and number of cards, with each term of memory."""

    model: ModelSummary
    engine: str
    engine_versions: str
    weight_format: str
    kv_format: str
    context_tokens: Tokens
    concurrency: int
    free_bytes: Bytes | None  # of each card, where --free was given
    rows: tuple[FitRow, ...]
    smallest: FitRow | None  # the first row with the fewest GPUs that surely fits
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # how ambiguous names were read
    error: ErrorBody | None  # why nothing fits


@click.command(
    "fit",
    cls=TaughtCommand,
    examples=(
        (
            "caudal fit llama-3.1-70b --gpu H100 --precision fp8 --context 8192 --concurrency 32",
            "how many H100, and where the memory goes",
        ),
        ("caudal fit ./my-model/ --gpu rtx4090:2 --tp 2 --free 21.3GiB", "cards already in use"),
        ("caudal fit qwen3-32b --precision int4 --context 32k", "on which cards at all"),
    ),
    notes=(
        HOW_MODELS_ARE_NAMED,
        HOW_QUANTITIES_ARE_WRITTEN,
        (
            "It fits only if the longest prompt at the full concurrency does, at the careful end "
            "of every term. Exit code 4 if nothing asked about surely fits."
        ),
    ),
)
@model_options
@click.option(
    "--gpu", "gpus", multiple=True, metavar="GPU[:N]", help="H100, H100:2, H100:1..8; repeatable."
)
@click.option("--precision", default="native", show_default=True, help="Of the weights: fp8, int4.")
@click.option("--kv-precision", help="Of the KV cache: fp8. Default: as the checkpoint asks.")
@click.option("--context", type=LENGTH, help="Tokens a request may reach. Default: 8k.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="Requests of that length at once.",
)
@click.option("--engine", default="vllm", show_default=True, help='"vllm", "vllm 0.8", "sglang".')
@click.option("--tp", type=click.IntRange(1, 4096), help="GPUs that share each layer.")
@click.option("--pp", type=click.IntRange(1, 4096), help="Stages that share the stack.")
@click.option("--eager", is_flag=True, help="Without CUDA graphs.")
@click.option("--free", type=SIZE, help="What is free on each card now: 21.3GiB.")
@click.option("--explain", is_flag=True, help="Derive the memory term by term.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def fit_command(
    context_of_click: click.Context,
    *,
    model: ModelSpec,
    gpus: tuple[str, ...],
    precision: str,
    kv_precision: str | None,
    context: Tokens | None,
    concurrency: int,
    engine: str,
    tp: int | None,
    pp: int | None,
    eager: bool,
    free: Bytes | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Say whether MODEL fits on a GPU, term by term."""
    stored = model.checkpoint.weight_format if precision == "native" else precision
    layout = None if tp is None and pp is None else Layout(tensor=tp or 1, pipeline=pp or 1)
    specs, counts, notes = _gpus(gpus, layout)
    question = FitQuestion(
        model=model,
        gpus=specs,
        counts=counts,
        layout=layout,
        weight_format=weight_format(stored),
        kv_format=kv_format(kv_precision or model.checkpoint.kv_format or "bf16"),
        engine=engine_of(engine),
        context_tokens=context or Tokens(min(USUAL_CONTEXT, model.max_context_tokens)),
        concurrency=concurrency,
        free_bytes=free,
        eager=eager,
    )
    report = answer_fit(question)
    failure = None if report.smallest is not None else failure_of(_nothing_fits(report))
    if as_json:
        print_document("fit", _document(report, notes, failure.body if failure else None))
    else:
        width = terminal_width()
        brief = not gpus
        print_sections(fit_sections(report, notes, brief=brief, explain=explain, width=width))
    if failure is not None:
        print_failure(failure, as_json=False)
        context_of_click.exit(failure.exit_code)


def _gpus(
    names: tuple[str, ...], layout: Layout | None
) -> tuple[tuple[GpuSpec, ...], tuple[int, ...] | None, tuple[str, ...]]:
    """Return the GPUs meant, how many of them, and how ambiguous names were read.

    Raises:
        ContradictoryOptionsError: the counts differ, or do not match the layout.
    """
    if not names:
        return gpu_catalogue().all, None, ()
    choices = [gpu_catalogue().resolve(name) for name in names]
    counts = {choice.counts for choice in choices}
    if len(counts) > 1:
        raise ContradictoryOptionsError(
            f"{' and '.join(names)} ask for different numbers of GPUs.",
            remedy="Give the same number with each --gpu, or none.",
        )
    said = counts.pop()
    if said is not None and layout is not None and layout.gpus not in said:
        raise ContradictoryOptionsError(
            f"--tp {layout.tensor} and --pp {layout.pipeline} make {layout.gpus} GPUs, "
            f"which {' and '.join(names)} does not allow.",
            remedy="Leave out the number behind the GPU, or --tp and --pp.",
        )
    specs = {spec.id: spec for choice in choices for spec in choice.specs}
    notes = dict.fromkeys(choice.note for choice in choices if choice.note)
    return tuple(specs.values()), said, tuple(notes)


def _nothing_fits(report: FitReport) -> DoesNotFitError:
    """Return the error for a report without a fitting row, with what helps the last one."""
    question = report.question
    wanted = f"{question.concurrency:,} x {question.context_tokens:,} tokens"
    last = report.rows[-1]
    helps = [mend.change for mend in last.mends if mend.verdict is Verdict.FITS]
    advice = "; or ".join(helps) or "take more or larger GPUs, a smaller --precision or --context"
    return DoesNotFitError(
        f"{question.model.id} in {question.weight_format.name} with {wanted} does not surely "
        f"fit on {_where(report)}"
        f"{f' ({last.reason})' if last.reason else ''}.",
        remedy=f"For {last.gpus} x {last.gpu_id}: {advice}.",
    )


def _where(report: FitReport) -> str:
    if len(report.rows) == 1:
        return f"{report.rows[0].gpus} x {report.rows[0].gpu_id}"
    return f"any of the {len(report.rows)} choices of GPUs asked about"


def _document(report: FitReport, notes: tuple[str, ...], error: ErrorBody | None) -> FitDocument:
    question = report.question
    return FitDocument(
        model=ModelSummary.of(question.model),
        engine=question.engine.name,
        engine_versions=question.engine.versions,
        weight_format=question.weight_format.name,
        kv_format=question.kv_format.name,
        context_tokens=question.context_tokens,
        concurrency=question.concurrency,
        free_bytes=question.free_bytes,
        rows=report.rows,
        smallest=report.smallest,
        assumptions=report.assumptions,
        notes=notes,
        error=error,
    )
