"""How many tokens an instance makes with a model at full load: what a list can be ordered by.

One fixed question, so that offers compare: 2,000 tokens in, 300 out, vLLM at its defaults, as many
replicas as the instance holds whole, each at the largest batch that its memory carries. `caudal
plan` answers for one's own traffic and bounds.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from caudal.facts.engine import EngineSpec
from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precision import WeightFormat
from caudal.facts.precisions import kv_format, weight_format
from caudal.facts.support import weight_support
from caudal.fit.budget import memory_budget
from caudal.fit.layouts import layout_problem
from caudal.fit.serving import Serving
from caudal.speed.gpus import GpuColumns
from caudal.speed.steady import capacity_curve
from caudal.speed.work import step_work
from caudal.vocabulary.units import Tokens

INPUT_TOKENS: Final = 2000  # chosen: the length of the headline question
OUTPUT_TOKENS: Final = 300
_ENGINE: Final = "vllm"
_KV: Final = "bf16"
_FORMAT: Final = "bf16"
_GROUPS: Final = (1, 2, 4, 8, 16)

Rate = Callable[[GpuSpec, int], float]


def tokens_per_s_of(wanted: str) -> Rate:
    """Return a function from GPU and number to output tokens per second, NaN where it can't run.

    `wanted` is MODEL@FORMAT; without a format, bf16.

    Raises:
        UnknownModelError, UnknownPrecisionError: with the nearest names.
    """
    name, at, stored = wanted.rpartition("@")
    model = resolve_model(name if at else wanted)
    return _Rates(model, weight_format(stored if at else _FORMAT), engine(_ENGINE))


class _Rates:
    """Rates of one model; each GPU and group size is computed once."""

    def __init__(self, model: ModelSpec, stored: WeightFormat, served_by: EngineSpec) -> None:
        self._model, self._stored, self._engine = model, stored, served_by
        self._of_group = cache(self._group)

    def __call__(self, gpu: GpuSpec, count: int) -> float:
        rates = [
            (count // group) * self._of_group(gpu.id, gpu, group)
            for group in _GROUPS
            if group <= count
        ]
        known = [rate for rate in rates if not np.isnan(rate)]
        return max(known, default=np.nan)

    def _group(self, _gpu_id: str, gpu: GpuSpec, group: int) -> float:
        """Return the output tokens per second of one replica on `group` GPUs."""
        layout = Layout(tensor=group)
        if not weight_support(gpu, self._stored, self._engine).runs:
            return np.nan
        if layout_problem(self._model, layout, self._stored, engine=self._engine) is not None:
            return np.nan
        longest = Tokens(INPUT_TOKENS + OUTPUT_TOKENS)
        serving = Serving(
            engine=self._engine,
            weight_format=self._stored,
            kv_format=kv_format(_KV),
            layout=layout,
            max_model_tokens=longest,
        ).on(gpu)
        budget = memory_budget(self._model, serving, gpu, context_tokens=longest, concurrency=1)
        if not budget.fits:
            return np.nan
        batch = min(budget.max_concurrency.low, float(serving.sequences))
        curve = capacity_curve(
            step_work(self._model, serving),
            GpuColumns.of((gpu,)),
            input_tokens=float(INPUT_TOKENS),
            output_tokens=float(OUTPUT_TOKENS),
            batches=[max(batch, 1.0)],
        )
        return float(curve.output_tok_s[0, 0])
