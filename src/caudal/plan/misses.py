"""Nearest misses in words: what fell, why, and what would mend it."""

from collections.abc import Sequence

import numpy as np

from caudal.facts.gpu import GpuSpec
from caudal.facts.precision import SupportAnswer
from caudal.facts.precisions import kv_format
from caudal.fit.serving import Serving
from caudal.offers.offer import Offer
from caudal.plan.candidate import Candidate
from caudal.plan.question import Question
from caudal.plan.report import NearestMiss
from caudal.plan.screen import Curve, latency_s
from caudal.plan.shapes import IllegalShape, Shape, name_serving, usual_kv_formats
from caudal.simulate.run import Simulation
from caudal.traffic.slo import Slo
from caudal.vocabulary.units import GIB, MIB


def illegal_miss(shape: IllegalShape) -> NearestMiss:
    """Return the smallest layout that the model does not allow, and the rule it breaks."""
    return NearestMiss(
        candidate=f"{shape.layout.gpus} GPUs, {shape.weight_format.name}, {shape.layout}",
        reason=shape.problem.problem,
        mend=shape.problem.remedy,
    )


def unsupported_miss(serving: Serving, gpu: GpuSpec, answer: SupportAnswer) -> NearestMiss:
    """Return the cheapest GPU that does not run the formats, and why."""
    return NearestMiss(
        candidate=name_serving(serving, gpu),
        reason=answer.reason,
        mend="Choose another --precision or --kv-precision for this GPU, or another --engine.",
    )


def memory_miss(
    question: Question, shape: Shape, gpu: GpuSpec, *, short_bytes: float
) -> NearestMiss:
    """Return the candidate that lacks the smallest share of its memory for one longest request."""
    longest = question.workload.longest_tokens
    mends = []
    smaller = usual_kv_formats(shape.serving.engine)[-1]
    if kv_format(smaller).bytes_per_element < shape.serving.kv_format.bytes_per_element:
        mends.append(f"--kv-precision {smaller}")
    mends += [f"a context below {longest:,} tokens", "more GPUs", "a smaller --precision"]
    return NearestMiss(
        candidate=name_serving(shape.serving, gpu),
        reason=(
            f"lacks {_size(short_bytes)} a GPU for one request of {longest:,} tokens, "
            "counted at the careful end of the estimate"
        ),
        mend=f"{', '.join(mends[:-1])} or {mends[-1]}",
    )


def latency_miss(
    question: Question,
    shape: Shape,
    gpu: GpuSpec,
    *,
    curve: Curve,
    concurrency: float,
    replicas: int | None,
) -> NearestMiss:
    """Return the candidate that came closest to the SLO, with each objective it misses."""
    name = name_serving(shape.serving, gpu)
    if replicas is not None:
        gpus = replicas * shape.serving.layout.gpus
        return NearestMiss(
            candidate=name,
            reason=f"the load needs {replicas} replicas, {gpus} GPUs: more than --gpu allows",
            mend=f"Allow {gpus} GPUs, or lower the load.",
        )
    if concurrency < 1:
        return NearestMiss(
            candidate=name,
            reason="the KV pool holds less than one request of the mean length",
            mend="Use --kv-precision fp8, more GPUs, or shorter requests.",
        )
    best = _closest_batch(question, curve)
    predicted = [
        (objective, float(latency_s(curve, objective, question.workload)[best]))
        for objective in question.slo.objectives
    ]
    missed = [(bound, seconds) for bound, seconds in predicted if seconds > bound.at_most_s]
    told = [f"{bound.label} {_ms(got)} against {_ms(bound.at_most_s)}" for bound, got in missed]
    if not all(np.isfinite(seconds) for _, seconds in missed):
        return NearestMiss(
            candidate=name,
            reason=f"no speed is known: its maker publishes no rate that {name} could reach",
            mend="Take a GPU whose rates are published.",
        )
    allowed = " and ".join(f"{bound.label} {_ms(seconds)}" for bound, seconds in missed)
    return NearestMiss(
        candidate=name,
        reason=f"even with {curve.batches[best]:.0f} in the batch: {'; '.join(told)}",
        mend=f"Allow {allowed}, shorten prompts, or take a faster GPU.",
    )


def offer_miss(shape: Shape, gpu: GpuSpec) -> NearestMiss:
    """Return a candidate that fits, on a GPU that nobody rents out as asked."""
    return NearestMiss(
        candidate=name_serving(shape.serving, gpu),
        reason=f"no offer of {gpu.name} passes the filters",
        mend="Relax --region, --provider, --term, --max-price or --max-price-age.",
    )


def instance_miss(candidate: Candidate, offers: Sequence[Offer]) -> NearestMiss:
    """Return the smallest deployment that serves but that no instance holds."""
    size, replicas = candidate.shape.serving.layout.gpus, candidate.replicas
    largest = max(float(offer.total_gpus) for offer in offers)
    if largest < size:
        reason = f"one replica needs {size} GPUs in one instance, the largest offer has {largest:g}"
    else:
        reason = f"no offer has the {size * replicas} GPUs in stock"
    return NearestMiss(
        candidate=candidate.name,
        reason=reason,
        mend="Relax --region, --provider, --term, --max-price or --max-price-age.",
    )


def budget_miss(
    candidate: Candidate, offer: Offer, *, usd: float, budget_usd: float, period: str
) -> NearestMiss:
    """Return the cheapest deployment of all, which still costs more than allowed."""
    return NearestMiss(
        candidate=f"{candidate.name} at {offer.provider}, {offer.term}",
        reason=f"${usd:,.0f} {period} against a budget of ${budget_usd:,.0f}",
        mend=f"Allow ${usd:,.0f}, lower the load, or loosen the SLO.",
    )


def simulated_miss(candidate: Candidate, simulation: Simulation, slo: Slo) -> NearestMiss:
    """Return a deployment that the closed forms passed and the simulation did not."""
    judged = simulation.judgement
    if judged is None:
        reason = "its queue grows without end"
    else:
        told = [
            f"{bound.label} {_ms(got.value)} against {_ms(bound.at_most_s)}"
            for bound in slo.objectives
            if (got := judged.seconds_of(bound.metric, bound.percentile)) is not None
            and got.value > bound.at_most_s
        ]
        reason = "; ".join(told)
    return NearestMiss(
        candidate=candidate.name,
        reason=f"{reason} ({simulation.label})",
        mend="Allow more GPUs, loosen the bound, or lower the load.",
    )


def _closest_batch(question: Question, curve: Curve) -> int:
    """Return the index of the batch whose worst objective is least exceeded."""
    worst = np.zeros(curve.batches.size)
    for objective in question.slo.objectives:
        seconds = latency_s(curve, objective, question.workload)
        worst = np.maximum(worst, seconds / objective.at_most_s)
    return int(worst.argmin())


def _ms(seconds: float) -> str:
    if not np.isfinite(seconds):
        return "without bound"
    return f"{seconds * 1e3:,.1f} ms" if seconds < 10 else f"{seconds:,.1f} s"


def _size(amount: float) -> str:
    return f"{amount / GIB:.1f} GiB" if amount >= GIB / 10 else f"{amount / MIB:.1f} MiB"
