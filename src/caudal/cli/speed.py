"""`caudal speed`: how fast a model runs on a GPU, batch by batch."""

import click

from caudal.cli.failures import failure_of, print_failure
from caudal.cli.model_options import HOW_MODELS_ARE_NAMED, NamedModel, named_model_options
from caudal.cli.output import print_document, print_sections, terminal_width
from caudal.cli.quantity_types import BATCHES, HOW_QUANTITIES_ARE_WRITTEN, LENGTH
from caudal.cli.speed_text import speed_sections
from caudal.cli.teaching import TaughtCommand
from caudal.documents.speed import USUAL_INPUT, USUAL_OUTPUT, SpeedAsked, answer_speed_question
from caudal.vocabulary.units import Tokens


@click.command(
    "speed",
    cls=TaughtCommand,
    examples=(
        (
            "caudal speed llama-3.1-70b --gpu H100-sxm --precision fp8 --tp 4 --input 2k",
            "TPOT and tokens a second at each batch, and what a step is spent on",
        ),
        (
            "caudal speed qwen3-8b --gpu L4:1 --gpu L40S:1 --input 4k --output 300 --batch 1,8,32",
            "two cards side by side at three batches",
        ),
        ("caudal speed qwen3-32b --precision int4", "every card that holds it"),
    ),
    notes=(
        HOW_MODELS_ARE_NAMED,
        HOW_QUANTITIES_ARE_WRITTEN,
        (
            "The ceiling is bandwidth over the weights that one token reads, which no single "
            "stream passes; the other figures are predictions with ranges. Exit code 4 if "
            "nothing asked about surely fits."
        ),
    ),
)
@named_model_options
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU[:N]",
    help="H100, H100:2, H100:1..8; repeatable. Default: of each the fewest that hold the model.",
)
@click.option("--precision", default="native", show_default=True, help="Of the weights: fp8, int4.")
@click.option("--kv-precision", help="Of the KV cache: fp8. Default: as the checkpoint asks.")
@click.option(
    "--engine", help='"vllm", "vllm 0.8", "sglang"; unless named vLLM, llama.cpp for a GGUF file.'
)
@click.option("--tp", type=click.IntRange(1, 4096), help="GPUs that share each layer.")
@click.option("--pp", type=click.IntRange(1, 4096), help="Stages that share the stack.")
@click.option(
    "--input", "input_tokens", type=LENGTH, default=USUAL_INPUT, show_default=True, help="Prompt."
)
@click.option(
    "--output",
    "output_tokens",
    type=LENGTH,
    default=USUAL_OUTPUT,
    show_default=True,
    help="Answer.",
)
@click.option(
    "--batch",
    "batches",
    type=BATCHES,
    help="Sequences at once: 1,8,32. Default: 1 to 256, as far as memory may hold them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def speed_command(
    context_of_click: click.Context,
    *,
    named: NamedModel,
    gpus: tuple[str, ...],
    precision: str,
    kv_precision: str | None,
    engine: str | None,
    tp: int | None,
    pp: int | None,
    input_tokens: Tokens,
    output_tokens: Tokens,
    batches: tuple[int, ...] | None,
    as_json: bool,
) -> None:
    """Predict how fast MODEL runs on a GPU, batch by batch."""
    answer = answer_speed_question(
        SpeedAsked(
            model=named.spec(),
            gpus=gpus,
            precision=precision,
            kv_precision=kv_precision,
            engine=engine,
            tp=tp,
            pp=pp,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            batches=batches,
        )
    )
    if as_json:
        print_document("speed", answer.document)
    else:
        print_sections(speed_sections(answer.document, brief=not gpus, width=terminal_width()))
    if answer.error is not None:
        failure = failure_of(answer.error)
        print_failure(failure, as_json=False)
        context_of_click.exit(failure.exit_code)
