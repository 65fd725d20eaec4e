"""One way to serve, on one GPU, under any traffic: the search's own check without the search."""

from dataclasses import replace
from math import ceil, floor

from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.facts.precision import SupportAnswer
from caudal.facts.support import weight_support
from caudal.fit.budget import card_memory
from caudal.fit.layouts import layout_problem
from caudal.fit.needs import memory_needs
from caudal.fit.serving import Serving
from caudal.plan.candidate import Candidate
from caudal.plan.screen import reach_of, room_of
from caudal.plan.shapes import Shape
from caudal.speed.gpus import GpuColumns
from caudal.speed.work import step_work
from caudal.traffic.slo import Slo
from caudal.traffic.workload import Workload


def candidate_of(
    model: ModelSpec,
    serving: Serving,
    gpu: GpuSpec,
    *,
    workload: Workload,
    slo: Slo,
    utilisation: float = 1.0,
    carries: float = 1.0,
) -> Candidate | None:
    """Return the deployment of this serving that carries the load, None where none does.

    Replicas are counted so that the busiest hour takes at most `utilisation` of what the SLO
    allows, which is `carries` times the steady state's rate where a simulation knows better.
    Leaves out whether the GPU supports the precision: the plan has checked it.
    """
    chosen = replace(serving, max_model_tokens=workload.longest_tokens).on(gpu)
    if layout_problem(model, chosen.layout, chosen.weight_format, engine=chosen.engine):
        return None
    shape = Shape(serving=chosen, needs=memory_needs(model, chosen), work=step_work(model, chosen))
    room = room_of(shape, [card_memory(gpu)], workload)
    if room.short_bytes[0] > 0 or room.concurrency[0] < 1:
        return None
    reach = reach_of(shape, GpuColumns.of([gpu]), room.concurrency, workload, slo)
    batch, largest = float(reach.batch[0]) * carries, float(reach.largest_rate[0]) * carries
    if batch <= 0:
        return None
    return Candidate(
        shape=shape,
        gpu=gpu,
        support=_support(gpu, chosen),
        replicas=replicas_for(workload, batch=batch, largest_rate=largest, share=utilisation),
        batch=batch,
        largest_rate=largest,
        concurrency=float(room.concurrency[0]),
        curve=reach.curve.on(0),
    )


def replicas_for(workload: Workload, *, batch: float, largest_rate: float, share: float) -> int:
    """Return the replicas that carry the load with each at most `share` full."""
    if workload.users is not None:
        return ceil(workload.users / max(1, floor(batch * share)))
    if workload.rate is not None:
        return ceil(workload.rate / (largest_rate * share) - 1e-9)
    return 1


def _support(gpu: GpuSpec, serving: Serving) -> SupportAnswer:
    return weight_support(gpu, serving.weight_format, serving.engine)
