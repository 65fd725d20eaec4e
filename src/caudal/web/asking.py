"""From the fields of the home page to a question, and back into an address.

The fields carry the names of the API's parameters, so that a question can be moved between both;
`load` and `amount` say in one choice and one number what the API says in three parameters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from threading import Lock
from typing import Final

from caudal.documents.offers import offer_query
from caudal.documents.plan import (
    PERCENTILES,
    PlanAnswer,
    PlanAsked,
    answer_plan,
    stated_objectives,
    stated_wishes,
)
from caudal.documents.written import parse_age_days, parse_monthly_budget
from caudal.facts.assumed import assumed_model
from caudal.facts.model import ModelSpec
from caudal.plan.question import Traffic
from caudal.plan.use import HOURS_PER_DAY, Use
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import ContradictoryOptionsError, InvalidQuantityError
from caudal.vocabulary.units import Bytes, Tokens
from caudal.web.page import Page

MOST_ROWS: Final = 400  # chosen: what a table is still scrolled through for
LOADS: Final = ("rate", "users", "tokens_per_day", "batch")
# The question that the home page answers before anyone asks: the project's headline.
EXAMPLE: Final = {
    "model": "llama-3.1-70b",
    "load": "rate",
    "amount": "5/s",
    "input": "2000",
    "output": "300",
    "ttft_p95": "1s",
    "tpot_p95": "50ms",
}
_SIZE = re.compile(r"\d+(?:\.\d+)?\s*[bBmM]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Typical lengths and wishes of one kind of use."""

    name: str
    fields: Mapping[str, str]
    source: str


PRESETS: Final = (
    Preset(
        name="chat",
        fields={
            "load": "rate",
            "amount": "5/s",
            "input": "1155",
            "output": "211",
            "ttft_p95": "1s",
            "tpot_p95": "50ms",
        },
        source="arXiv:2311.18677 (Azure, conversation trace 2023)",
    ),
    Preset(
        name="rag",
        fields={
            "load": "rate",
            "amount": "2/s",
            "input": "6000",
            "output": "400",
            "ttft_p95": "2s",
            "tpot_p95": "60ms",
        },
        source="",
    ),
    Preset(
        name="agents",
        fields={
            "load": "users",
            "amount": "20",
            "input": "16000",
            "output": "500",
            "ttft_p95": "5s",
            "tpot_p95": "30ms",
        },
        source="",
    ),
    Preset(
        name="batch",
        fields={"load": "batch", "amount": "50M", "input": "2000", "output": "300"},
        source="",
    ),
)
"""What people use models for; lengths without a source are chosen and meant to be changed."""


class KeptAnswers:
    """The last plans, so that a filter, a derivation or a language does not plan anew."""

    def __init__(self, most: int = 32) -> None:  # chosen: a report is about a megabyte
        self._most = most
        self._answers: dict[object, PlanAnswer] = {}
        self._lock = Lock()

    def get(self, key: object) -> PlanAnswer | None:
        """Return a kept plan."""
        with self._lock:
            found = self._answers.pop(key, None)
            if found is not None:
                self._answers[key] = found
            return found

    def keep(self, key: object, answer: PlanAnswer) -> None:
        """Keep a plan and drop the one not used for longest."""
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self._most:
                del self._answers[next(iter(self._answers))]


KEPT: Final = KeptAnswers()
# What decides an answer; all other fields only choose what is shown of it.
_BOUNDS: Final = tuple(
    f"{metric}_p{percent}" for metric in ("ttft", "tpot", "e2e") for percent in PERCENTILES
)
DECIDING: Final = (
    *("model", "load", "amount", "input", "output", "context", "peak_factor"),
    *_BOUNDS,
    *("region", "term", "provider", "without_provider", "max_price_age"),
    *("gpu", "precision", "kv_precision", "engine", "budget"),
    *("hours_per_day", "days", "vat", "data_out"),
)


def question_fields(page: Page) -> dict[str, str]:
    """Return the question in the address, or the example where there is none."""
    given = {name: page.get(name) for name in DECIDING}
    _from_api_names(page, given)
    if not any(given.values()):
        return {**given, **EXAMPLE}
    return given


def _from_api_names(page: Page, given: dict[str, str]) -> None:
    """Read the load as the API names it, where `load` and `amount` are not given."""
    if given["amount"]:
        return
    for name in ("rate", "users", "tokens_per_day"):
        if page.get(name):
            batch = page.get("batch") in {"true", "1", "on"} and name == "tokens_per_day"
            given["load"] = "batch" if batch else name
            given["amount"] = page.get(name)


def model_named(page: Page, name: str) -> ModelSpec:
    """Return the model of the catalogue, an upload, or one of which only the size is known."""
    if _SIZE.fullmatch(name):
        return assumed_model(quantities.parse_count(name.replace(" ", "")))
    if not name:
        raise InvalidQuantityError(
            "No model is named.", remedy="Name one, such as llama-3.1-70b, or give its size: 13B."
        )
    return page.services.model(name)


def use_of(page: Page) -> Use:
    """Return how the rental is used, as far as the address says."""
    hours, days, vat = page.get("hours_per_day"), page.get("days"), page.get("vat")
    return Use(
        hours_per_day=_decimal(hours) if hours else HOURS_PER_DAY,
        days=_decimal(days) if days else None,
        vat_percent=_decimal(vat.rstrip("% ")) if vat else None,
        data_out_bytes=page.read("data_out", quantities.parse_bytes) or Bytes(0),
    )


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.replace(",", "."))
    except InvalidOperation:
        raise InvalidQuantityError(
            f"{text[:20]!r} is no number.", remedy="Give a number such as 12 or 7.5."
        ) from None
    if not number.is_finite():
        raise InvalidQuantityError(f"{text[:20]!r} is no number.", remedy="Give a finite number.")
    return number


def plan_asked(page: Page, fields: Mapping[str, str]) -> PlanAsked:
    """Return the question as the plan takes it.

    Raises:
        CaudalError: a field does not parse, or two contradict each other.
    """
    age = fields["max_price_age"]
    budget = fields["budget"]
    return PlanAsked(
        model=model_named(page, fields["model"]),
        traffic=_traffic(fields),
        objectives=stated_objectives(
            {
                name: quantities.parse_duration(fields[name]) if fields[name] else None
                for name in _BOUNDS
            }
        ),
        wishes=replace(
            stated_wishes(
                gpus=_listed(fields["gpu"]),
                precisions=_listed(fields["precision"]),
                kv_precisions=_listed(fields["kv_precision"]),
                engine_names=_listed(fields["engine"]),
                budget=parse_monthly_budget(budget) if budget else None,
                top=MOST_ROWS,
            ),
            use=use_of(page),
        ),
        query=offer_query(
            regions=_listed(fields["region"]),
            providers=_listed(fields["provider"]),
            without=_listed(fields["without_provider"]),
            terms=_listed(fields["term"]),
            max_price_age=parse_age_days(age) if age else None,
        ),
    )


def answered(page: Page, fields: Mapping[str, str]) -> PlanAnswer:
    """Return the answer to the fields, kept or computed; see `plan_asked`."""
    key = (tuple(sorted(fields.items())), page.today, page.model_state)
    found = KEPT.get(key)
    if found is None:
        asked = plan_asked(page, fields)
        found = answer_plan(asked, book=page.services.book(), today=page.today)
        KEPT.keep(key, found)
    return found


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _traffic(fields: Mapping[str, str]) -> Traffic:
    load, amount = fields["load"] or "rate", fields["amount"]
    if load not in LOADS:
        raise ContradictoryOptionsError(
            f"There is no kind of traffic {load!r}.", remedy=f"Choose {', '.join(LOADS)}."
        )
    a_day = load in {"tokens_per_day", "batch"} and amount
    return Traffic(
        input_tokens=_tokens(fields["input"]),
        output_tokens=_tokens(fields["output"]),
        rate=quantities.parse_rate(_with_unit(amount)) if load == "rate" and amount else None,
        users=quantities.parse_count(amount) if load == "users" and amount else None,
        tokens_per_day=float(quantities.parse_count(amount)) if a_day else None,
        peak_factor=_factor(fields["peak_factor"]),
        batch=load == "batch",
        context_tokens=_tokens(fields["context"]),
    )


def _with_unit(amount: str) -> str:
    """Return a rate with its unit: a bare number is requests a second."""
    return amount if "/" in amount else f"{amount}/s"


def _tokens(text: str) -> Tokens | None:
    return quantities.parse_tokens(text) if text else None


def _factor(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidQuantityError(
            f"{text!r} is no factor.", remedy="Give a number such as 3."
        ) from None
