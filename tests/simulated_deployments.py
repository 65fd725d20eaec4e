"""A real model on a real GPU for the tests of the simulator's outside."""

from functools import lru_cache

from caudal.facts.engines import engine
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.layout import Layout
from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.serving import Serving
from caudal.simulate.deployment import Deployment
from caudal.traffic.arrivals import Arrivals, PoissonArrivals
from caudal.traffic.lengths import FixedLength, LognormalLength
from caudal.traffic.load import Load
from caudal.vocabulary.units import Tokens


@lru_cache(maxsize=4)
def model(name: str = "llama-3.1-8b") -> ModelSpec:
    return resolve_model(name)


def gpu(name: str = "h100-sxm") -> GpuSpec:
    return gpu_catalogue().get(name)


def serving(*, name: str = "vllm", weights: str = "bf16", context: int = 16_384) -> Serving:
    return Serving(
        engine=engine(name),
        weight_format=weight_format(weights),
        kv_format=kv_format("bf16"),
        layout=Layout(),
        max_model_tokens=Tokens(context),
    )


def deployment(*, replicas: int = 1, name: str = "vllm", context: int = 16_384) -> Deployment:
    return Deployment(
        model=model(), serving=serving(name=name, context=context), gpu=gpu(), replicas=replicas
    )


def load(rate: float = 5.0, *, arrivals: Arrivals | None = None, variation: float = 1.0) -> Load:
    prompt = LognormalLength(1000, variation, 8000) if variation else FixedLength(1000)
    output = LognormalLength(200, variation, 4000) if variation else FixedLength(200)
    return Load(arrivals=arrivals or PoissonArrivals(rate), prompt=prompt, output=output)
