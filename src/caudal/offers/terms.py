"""How providers bill: unit, minimum, month and egress, where a source says so; else unknown."""

import csv
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from io import StringIO

from caudal.facts.source import Source
from caudal.vocabulary.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTerms:
    """What a provider's bill is rounded to. None is unknown."""

    provider: str
    title: str
    billing_unit_s: Seconds | None
    minimum_s: Seconds | None  # charged at each start, virtual machines
    bare_metal_minimum_s: Seconds | None  # where it differs
    month_hours: Decimal | None  # by which the provider sells a month
    egress_list: str | None  # a key of `egress_prices`
    source: Source | None
    note: str = ""


@cache
def known_terms() -> Mapping[str, ProviderTerms]:
    """Return the terms of every provider that we have any of."""
    return {row["provider"]: _terms(row) for row in _rows()}


def provider_terms(provider: str) -> ProviderTerms:
    """Return a provider's terms; all unknown where we have none."""
    known = known_terms().get(provider_id(provider))
    return known or ProviderTerms(
        provider=provider,
        title=provider,
        billing_unit_s=None,
        minimum_s=None,
        bare_metal_minimum_s=None,
        month_hours=None,
        egress_list=None,
        source=None,
    )


@lru_cache(maxsize=256)
def provider_id(name: str) -> str:
    """Return the one name of a provider, as in `Oracle Cloud` and `oci`: lower case, dashes."""
    folded = " ".join(name.casefold().split())
    return _aliases().get(folded, folded.replace(" ", "-"))


@cache
def _aliases() -> Mapping[str, str]:
    return {
        alias: row["provider"]
        for row in _rows()
        for alias in (row["title"].casefold(), *filter(None, row["aliases"].split(";")))
    }


@cache
def _rows() -> tuple[dict[str, str], ...]:
    raw = pkgutil.get_data("caudal.offers", "data/providers.csv")
    assert raw is not None, "the wheel lacks data/providers.csv"
    return tuple(csv.DictReader(StringIO(raw.decode("utf-8"))))


def _terms(row: Mapping[str, str]) -> ProviderTerms:
    return ProviderTerms(
        provider=row["provider"],
        title=row["title"],
        billing_unit_s=_seconds(row["billing_unit_s"]),
        minimum_s=_seconds(row["minimum_s"]),
        bare_metal_minimum_s=_seconds(row["bare_metal_minimum_s"]),
        month_hours=Decimal(row["month_hours"]) if row["month_hours"] else None,
        egress_list=row["egress_list"] or None,
        source=Source(row["source"], date.fromisoformat(row["read_on"])),
        note=row["note"],
    )


def _seconds(cell: str) -> Seconds | None:
    return Seconds(float(cell)) if cell else None
