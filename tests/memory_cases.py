"""Ways of serving small and well-known models, for tests of memory."""

from dataclasses import replace

from caudal.facts.engines import engine
from caudal.facts.layout import Layout
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.vocabulary.units import Tokens


def served(
    *,
    by: str = "vllm",
    version: str | None = None,
    weights: str = "bf16",
    cache: str = "bf16",
    tensor: int = 1,
    pipeline: int = 1,
    expert: bool = False,
    longest: int | None = None,
    step: int | None = None,
    sequences: int | None = None,
) -> Serving:
    return Serving(
        engine=engine(by, version),
        weight_format=weight_format(weights),
        kv_format=kv_format(cache),
        layout=Layout(tensor=tensor, pipeline=pipeline, expert=expert),
        max_model_tokens=None if longest is None else Tokens(longest),
        max_batched_tokens=None if step is None else Tokens(step),
        max_sequences=sequences,
    )


def eager(serving: Serving) -> Serving:
    return replace(serving, eager=True)
