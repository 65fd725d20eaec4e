"""Every format of list that can be imported: how it is recognised, and who reads it."""

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import PurePath
from typing import Final, NamedTuple

from caudal.offers.batch import OfferBatch, ReadingFacts
from caudal.offers.offer import DEFAULT_AGE_LIMITS, AgeLimits
from caudal.offers.sources import (
    dstack,
    gpuhunt,
    quote_csv,
    runpod,
    shadeform,
    skypilot,
    vastai,
)
from caudal.offers.sources.csv_rows import head_of
from caudal.offers.sources.files import InvalidListError, ListFile
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.quote_sheet import offers_of_sheet, read_quote_sheet
from caudal.offers.sources.rows import Origin, Row, batch_of_rows
from caudal.offers.terms import provider_id
from caudal.vocabulary.errors import UnknownNameError

# Chosen: hosts of a marketplace change prices daily and leave within weeks.
MARKET_LIMITS: Final = AgeLimits(fresh_days=2, stale_days=30)
# Chosen: a reseller's list follows the clouds behind it.
RESELLER_LIMITS: Final = AgeLimits(fresh_days=7, stale_days=90)
_YOURS: Final = "read with your own access; not to be passed on"


class UnknownListFormatError(UnknownNameError):
    """No list has a format of this name."""

    code, noun = "unknown-list-format", "list format"


class ListFormat(NamedTuple):
    """One format."""

    name: str
    title: str
    licence: str
    recognises: Callable[[str], bool]  # by the beginning of the text
    rows: Callable[[str, Reading], Iterator[Row | None]]
    names_provider: bool  # whether the list itself says whose prices it holds
    age_limits: AgeLimits = DEFAULT_AGE_LIMITS


def _has_columns(*columns: str) -> Callable[[str], bool]:
    return lambda text: set(columns) <= {column.strip() for column in head_of(text)}


def _has_fields(*fields: str) -> Callable[[str], bool]:
    def recognises(text: str) -> bool:
        start = text[:200_000]
        return text.lstrip()[:1] in {"{", "["} and all(f'"{field}"' in start for field in fields)

    return recognises


LIST_FORMATS: Final = {
    entry.name: entry
    for entry in (
        ListFormat(
            "skypilot",
            "SkyPilot catalogue",
            "see skypilot-org/skypilot-catalog",
            _has_columns("InstanceType", "AcceleratorName"),
            skypilot.rows,
            names_provider=False,
        ),
        ListFormat(
            "gpuhunt",
            "gpuhunt catalogue",
            "see dstackai/gpuhunt",
            _has_columns("instance_name", "gpu_name", "spot"),
            gpuhunt.rows,
            names_provider=False,
            age_limits=RESELLER_LIMITS,
        ),
        ListFormat(
            "quotes",
            "quote sheet",
            "your own quotes",
            _has_columns("gpu", "gpus", "price"),
            quote_csv.rows,
            names_provider=False,
        ),
        ListFormat(
            "vastai",
            "Vast.ai",
            _YOURS,
            _has_fields("gpu_name", "num_gpus", "gpu_ram"),
            vastai.rows,
            names_provider=True,
            age_limits=MARKET_LIMITS,
        ),
        ListFormat(
            "runpod",
            "RunPod",
            _YOURS,
            _has_fields("gpuTypes"),
            runpod.rows,
            names_provider=True,
            age_limits=MARKET_LIMITS,
        ),
        ListFormat(
            "shadeform",
            "Shadeform",
            _YOURS,
            _has_fields("instance_types", "hourly_price"),
            shadeform.rows,
            names_provider=True,
            age_limits=RESELLER_LIMITS,
        ),
        ListFormat(
            "dstack",
            "dstack",
            _YOURS,
            _has_fields("offers", "backend", "price"),
            dstack.rows,
            names_provider=True,
            age_limits=RESELLER_LIMITS,
        ),
    )
}
SHEET: Final = "quote-sheet"  # TOML, which holds its own day, terms and discounts


class Wanted(NamedTuple):
    """What the user says about a file; "" and None where the file itself decides."""

    format: str = ""
    provider: str = ""
    observed_on: date | None = None


def read_list(
    file: ListFile, *, wanted: Wanted, modified_on: date, today: date, facts: ReadingFacts
) -> OfferBatch:
    """Return the offers of a list.

    A list that does not say when its prices were seen is as old as the file (`modified_on`).

    Raises:
        UnknownListFormatError: there is no format of the wished name.
        InvalidListError: no format recognises the list, or its head is wrong.
        InvalidFactError: a quote sheet in TOML is wrong.
    """
    if (wanted.format or _sheet_name(file)) == SHEET:
        batch = offers_of_sheet(read_quote_sheet(file.text, where=file.name), facts)
        return batch._replace(source=f"quotes-{batch.source}", notes=_notes(file, ()))
    chosen = _format(file, wanted.format)
    provider = provider_id(wanted.provider or _provider(file.name, chosen))
    if not chosen.names_provider and not provider and chosen.name != "quotes":
        raise InvalidListError(
            f"{file.name} does not say whose prices it holds.", remedy="Name it: --provider aws."
        )
    seen = wanted.observed_on or min(modified_on, today)
    origin = Origin(
        source=chosen.name if chosen.names_provider else f"{chosen.name}-{provider or 'own'}",
        title=chosen.title if chosen.names_provider else f"{chosen.title}: {provider or 'own'}",
        licence=chosen.licence,
        where=f"{chosen.title}, {file.name}",
        observed_on=seen,
        read_on=today,
        age_limits=chosen.age_limits,
    )
    dated = f"Rows without a day of their own are dated {seen}, the day of the file."
    return batch_of_rows(
        chosen.rows(file.text, Reading(file.name, provider)),
        origin=origin,
        facts=facts,
        notes=_notes(file, () if wanted.observed_on else (dated,)),
    )


def _sheet_name(file: ListFile) -> str:
    return SHEET if file.name.endswith(".toml") else ""


def _format(file: ListFile, name: str) -> ListFormat:
    if name:
        if name not in LIST_FORMATS:
            known = [*LIST_FORMATS, SHEET]
            raise UnknownListFormatError(name, known=known, hint=f"Known: {', '.join(known)}.")
        return LIST_FORMATS[name]
    for entry in LIST_FORMATS.values():
        if entry.recognises(file.text):
            return entry
    raise InvalidListError(
        f"{file.name} is no list that Caudal knows.",
        remedy=f"Known: {', '.join([*LIST_FORMATS, SHEET])}; say which with --format.",
    )


def _provider(name: str, entry: ListFormat) -> str:
    """Return whose prices a file holds, by its place: `aws/vms.csv`, `aws.csv`."""
    if entry.names_provider or entry.name == "quotes":
        return ""
    path = PurePath(name)
    return path.parent.name if path.stem == "vms" else path.stem


def _notes(file: ListFile, more: tuple[str, ...]) -> tuple[str, ...]:
    plain = file.encoding in {"utf-8", "utf-8-sig"}
    return (*(() if plain else (f"Read as {file.encoding}.",)), *more)
