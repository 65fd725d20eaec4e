"""Questions that the plan's tests ask, over the real catalogue and bundled offers."""

from dataclasses import replace
from datetime import date
from functools import lru_cache

from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import resolve_model
from caudal.offers.book import OfferBook
from caudal.offers.bundled import bundled_offers
from caudal.plan.answer import plan_deployment
from caudal.plan.question import GpuWish, Question, Traffic, Wishes, build_question
from caudal.plan.report import PlanReport
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.units import RequestsPerSecond, Seconds, Tokens

TODAY = date(2026, 11, 30)
HEADLINE = Traffic(
    input_tokens=Tokens(2000), output_tokens=Tokens(300), rate=RequestsPerSecond(5.0)
)
HEADLINE_SLO = (
    Objective(Metric.TTFT, 0.95, Seconds(1.0)),
    Objective(Metric.TPOT, 0.95, Seconds(0.05)),
)
FEW_GPUS = ("h100-sxm", "a100-80g-sxm", "l40s", "mi300x", "rtx-4090")


@lru_cache(maxsize=1)
def book() -> OfferBook:
    return bundled_offers(today=TODAY)


def few_gpus(*ids: str, counts: tuple[int, ...] | None = None) -> tuple[GpuWish, ...]:
    catalogue = gpu_catalogue()
    return (GpuWish(specs=tuple(catalogue.get(name) for name in ids or FEW_GPUS), counts=counts),)


def question(
    model: str = "llama-3.1-70b",
    *,
    traffic: Traffic = HEADLINE,
    objectives: tuple[Objective, ...] = HEADLINE_SLO,
    wishes: Wishes | None = None,
) -> Question:
    chosen = wishes or Wishes()
    if not chosen.gpus:
        chosen = replace(chosen, gpus=few_gpus())
    return build_question(
        resolve_model(model),
        traffic,
        objectives,
        chosen,
        all_gpus=gpu_catalogue().all,
        usual_engine=engine("vllm"),
    )


def answer(asked: Question) -> PlanReport:
    return plan_deployment(asked, book=book(), today=TODAY)
