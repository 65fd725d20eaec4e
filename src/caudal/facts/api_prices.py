"""What token APIs ask for open models, from a small dated table that anyone may edit.

One row a provider and model, with the source and the day. A cached-input price is empty where
the provider lists none. Leaves out batch discounts, tiers by prompt length and free quotas.
"""

import csv
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from io import StringIO

from caudal.facts.model import ModelSpec
from caudal.facts.models import model_catalogue
from caudal.facts.source import Source
from caudal.vocabulary.money import UsdPerMillionTokens

# Upper bounds of the classes, by total parameters. Chosen: the gaps between what lists price
# alike (8B, 32B, 70B, hundreds of billions).
_CLASSES = ((10e9, "up to 10B"), (40e9, "10B to 40B"), (130e9, "40B to 130B"))
_LARGEST = "above 130B"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPrice:
    """One provider's list price for one model, US dollars per million tokens."""

    provider: str
    model_id: str  # a key of the model catalogue
    listed_as: str
    input_usd_per_million: UsdPerMillionTokens
    cached_input_usd_per_million: UsdPerMillionTokens | None  # None: no price of its own is listed
    output_usd_per_million: UsdPerMillionTokens
    observed_on: date
    source: Source

    def usd(self, *, input_tokens: float, output_tokens: float, cached_share: float = 0.0) -> float:
        """Return what these tokens cost; without a cached price all input is at full price."""
        full = float(self.input_usd_per_million)
        cached = self.cached_input_usd_per_million
        mixed = full if cached is None else full + cached_share * (float(cached) - full)
        return (input_tokens * mixed + output_tokens * float(self.output_usd_per_million)) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPrices:
    """The prices to compare a model with, and whether they are of the very model."""

    prices: tuple[ApiPrice, ...]  # the cheapest input first
    is_same_model: bool
    model_class: str  # such as "40B to 130B"

    @property
    def said(self) -> str:
        """Return what the prices are of, in words."""
        if self.is_same_model:
            return "this model"
        return f"models of {self.model_class} parameters; none is listed for this one"


@cache
def api_prices() -> tuple[ApiPrice, ...]:
    """Return every row of the table."""
    raw = pkgutil.get_data("caudal.facts", "data/api_prices.csv")
    assert raw is not None, "the wheel lacks data/api_prices.csv"
    return tuple(_price(row) for row in csv.DictReader(StringIO(raw.decode("utf-8"))))


def prices_for(model: ModelSpec, *, table: Iterable[ApiPrice] | None = None) -> ApiPrices:
    """Return the rows of this model or, where there are none, those of its size class."""
    rows = tuple(api_prices() if table is None else table)
    wanted = {model.id, *_same_shape(model)}
    same = [row for row in rows if row.model_id in wanted]
    size = size_class(model.total_parameters)
    found = same or [row for row in rows if _class_of(row.model_id) == size]
    return ApiPrices(
        prices=tuple(sorted(found, key=lambda row: row.input_usd_per_million)),
        is_same_model=bool(same),
        model_class=size,
    )


def size_class(parameters: float) -> str:
    """Return the class of a model by its total parameters."""
    return next((name for most, name in _CLASSES if parameters <= most), _LARGEST)


def _same_shape(model: ModelSpec) -> tuple[str, ...]:
    """Return the catalogue's entries that are this model in another precision."""
    return tuple(
        entry.id
        for entry in model_catalogue().entries
        if entry.family == model.family
        and entry.total_parameters == model.total_parameters
        and entry.active_parameters == model.active_parameters
        and _base_name(entry.id) == _base_name(model.id)
    )


def _base_name(model_id: str) -> str:
    name = model_id.rsplit("/", 1)[-1].lower()
    for part in ("-fp8", "-nvfp4", "-instruct", "-bf16"):
        name = name.replace(part, "")
    return name


def _class_of(model_id: str) -> str | None:
    entry = model_catalogue().find(model_id)
    return None if entry is None else size_class(entry.total_parameters)


def _price(row: Mapping[str, str]) -> ApiPrice:
    cached = row["cached_input_usd_per_million"]
    return ApiPrice(
        provider=row["provider"],
        model_id=row["model"],
        listed_as=row["listed_as"],
        input_usd_per_million=UsdPerMillionTokens(Decimal(row["input_usd_per_million"])),
        cached_input_usd_per_million=UsdPerMillionTokens(Decimal(cached)) if cached else None,
        output_usd_per_million=UsdPerMillionTokens(Decimal(row["output_usd_per_million"])),
        observed_on=date.fromisoformat(row["observed_on"]),
        source=Source(row["source"], date.fromisoformat(row["read_on"]), "MIT"),
    )
