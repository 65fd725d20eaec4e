"""`caudal fit`: whether a model fits on a GPU, and where its memory goes."""

from pathlib import Path

import click

from caudal.cli.failures import failure_of, print_failure
from caudal.cli.fit_text import fit_sections
from caudal.cli.knob_options import knob_options
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, NamedModel, named_model_options
from caudal.cli.offload_options import offload_options
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.quantity_types import HOW_QUANTITIES_ARE_WRITTEN, LENGTH, SIZE
from caudal.cli.teaching import TaughtCommand
from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.fit.placement import Offload
from caudal.fit.serving import Knobs
from caudal.vocabulary.units import Bytes, Tokens


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
        (
            'caudal fit llama-3.1-70b --engine llama.cpp --precision q4_k_m --gpu "3090 + 4080"',
            "a split over unequal cards, and what is left to main memory",
        ),
        ("caudal fit --log vllm.log", "what the engine measured, beside the prediction"),
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
@named_model_options
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU[:N]",
    help='H100, H100:2, H100:1..8, H100/3g.40gb; joined: "RTX 3090 + RTX 4080"; repeatable.',
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
@click.option(
    "--engine", help='"vllm", "vllm 0.8", "sglang"; unless named vLLM, llama.cpp for a GGUF file.'
)
@click.option("--tp", type=click.IntRange(1, 4096), help="GPUs that share each layer.")
@click.option("--pp", type=click.IntRange(1, 4096), help="Stages that share the stack.")
@click.option("--eager", is_flag=True, help="Without CUDA graphs.")
@click.option("--free", type=SIZE, help="What is free on each card now: 21.3GiB.")
@knob_options
@offload_options
@click.option("--frontier", is_flag=True, help="How many requests of which length each row holds.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="An engine's start-up log: measured beside predicted.",
)
@click.option("--explain", is_flag=True, help="Derive the memory term by term.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def fit_command(
    context_of_click: click.Context,
    *,
    named: NamedModel,
    gpus: tuple[str, ...],
    precision: str,
    kv_precision: str | None,
    context: Tokens | None,
    concurrency: int,
    engine: str | None,
    tp: int | None,
    pp: int | None,
    eager: bool,
    free: Bytes | None,
    knobs: Knobs,
    offload: Offload,
    frontier: bool,
    log: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Say whether MODEL fits on a GPU, term by term."""
    if log is not None:
        from caudal.cli.fit_log import show_fit_log  # noqa: PLC0415 - 20 ms that no other use needs

        show_fit_log(log, named=named, gpus=gpus, precision=precision, as_json=as_json)
        return
    asked = FitAsked(
        model=named.spec(),
        gpus=gpus,
        precision=precision,
        kv_precision=kv_precision,
        context=context,
        concurrency=concurrency,
        engine=engine,
        tp=tp,
        pp=pp,
        eager=eager,
        free=free,
        knobs=knobs,
        offload=offload,
        frontier=frontier,
    )
    answer = answer_fit_question(asked)
    if as_json:
        print_document("fit", answer.document)
    else:
        sections = fit_sections(
            answer.report, answer.notes, brief=not gpus, explain=explain, width=terminal_width()
        )
        print_sections(sections)
    if answer.error is not None:
        failure = failure_of(answer.error)
        print_failure(failure, as_json=False)
        context_of_click.exit(failure.exit_code)
