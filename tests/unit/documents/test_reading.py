from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pytest

from caudal.documents.fit import FitAsked, FitDocument, answer_fit_question
from caudal.documents.gpus import GpuDocument, list_gpus
from caudal.documents.models import ModelDocument, ModelListDocument, list_models
from caudal.documents.offers import OfferDocument, find_offers
from caudal.documents.plan import PlanAsked, PlanDocument, answer_plan
from caudal.documents.reading import UnreadableDocumentError, read_document
from caudal.documents.speed import SpeedAsked, SpeedDocument, answer_speed_question
from caudal.documents.values import document
from caudal.facts.models import resolve_model
from caudal.offers.bundled import bundled_offers
from caudal.offers.query import OfferQuery
from caudal.plan.question import Traffic
from caudal.vocabulary.estimate import Basis, Estimate
from caudal.vocabulary.units import RequestsPerSecond

TODAY = date(2026, 11, 30)


@dataclass(frozen=True, kw_only=True)
class Sample:
    price: Decimal
    on: date | None
    names: frozenset[str]
    seconds: Estimate
    pair: tuple[int, str]


SAMPLE = Sample(
    price=Decimal("2.50"),
    on=None,
    names=frozenset({"b", "a"}),
    seconds=Estimate(2.0, 1.0, float("inf"), Basis.ROOFLINE),
    pair=(1, "x"),
)


def offers() -> OfferDocument:
    book = bundled_offers(today=TODAY)
    return find_offers(["H100:8"], OfferQuery(), book=book, top=5)


def fit() -> FitDocument:
    return answer_fit_question(
        FitAsked(model=resolve_model("deepseek-v3"), gpus=("H200",))
    ).document


def speed() -> SpeedDocument:
    return answer_speed_question(
        SpeedAsked(model=resolve_model("deepseek-v3"), gpus=("H200",))
    ).document


def plan() -> PlanDocument:
    asked = PlanAsked(
        model=resolve_model("llama-3.1-8b"),
        traffic=Traffic(rate=RequestsPerSecond(1.0)),
        explain=1,
    )
    return answer_plan(asked, book=bundled_offers(today=TODAY), today=TODAY).document


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (Sample, lambda: SAMPLE),
        (GpuDocument, list_gpus),
        (ModelListDocument, lambda: list_models(family="qwen")),
        (ModelDocument, lambda: ModelDocument.of(resolve_model("deepseek-v3"))),
        (ModelDocument, lambda: ModelDocument.of(resolve_model("qwen3-next-80b-a3b"))),
        (OfferDocument, offers),
        (FitDocument, fit),
        (SpeedDocument, speed),
        (PlanDocument, plan),
    ],
)
def test_a_document_is_read_back_into_the_value_it_was_made_of(
    kind: type[object], make: Callable[[], object]
) -> None:
    value = make()

    assert value == read_document(kind, document("sample", value))


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("price", {"price": 2.5}),
        ("price", {"price": "cheap"}),
        ("on", {"on": "yesterday"}),
        ("names", {"names": "a"}),
        ("basis", {"seconds": {"value": 1, "low": 1, "high": 1, "basis": "guessed"}}),
        ("pair", {"pair": [1]}),
        ("colour", {"colour": "red"}),
    ],
)
def test_what_does_not_fit_the_type_is_named(said: str, changes: dict[str, object]) -> None:
    odd = document("sample", SAMPLE) | changes

    with pytest.raises(UnreadableDocumentError, match=said):
        read_document(Sample, odd)  # type: ignore[arg-type]  # that is what is tried
