"""Parameters as they are written in a query or a JSON body, read into base units.

Text is read as the commands read it (`8k`, `500ms`, `5/s`, `$25/h`); a number in JSON is in base
units: tokens, seconds, requests a second, bytes, dollars. A value that does not parse keeps the
room's own error, its code and its remedy.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from caudal.documents.use import parse_number
from caudal.documents.written import parse_age_days, parse_batches, parse_monthly_budget
from caudal.vocabulary import quantities
from caudal.vocabulary.errors import CaudalError
from caudal.vocabulary.money import UsdPerHour
from caudal.vocabulary.units import Bytes, BytesPerSecond, RequestsPerSecond, Seconds, Tokens

LONGEST_TEXT: Final = 200  # chosen: the longest model id of the hub has 193 characters
MOST_NAMES: Final = 32  # chosen: GPUs, regions or providers that one question names
Parsed = TypeVar("Parsed")


class Parameters(BaseModel):
    """What a route takes; a name it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def told_by(error: CaudalError) -> PydanticCustomError:
    """Return a room's error in the form that pydantic carries."""
    return PydanticCustomError(
        "caudal", "{problem}", {"problem": error.problem, "remedy": error.remedy, "error": error}
    )


def _reader(parse: Callable[[str], Parsed], unit: str, *, listed: bool = False) -> BeforeValidator:
    """Return a validator over one of the vocabulary's parsers; a bare number is in `unit`.

    `listed`: the value is a tuple, which a query hands over as the list of its one text.
    """

    def read(value: object) -> object:
        if listed and isinstance(value, list) and len(value) == 1:
            return read(value[0])
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        text = value if isinstance(value, str) else f"{Decimal(str(value)):f}{unit}"
        if len(text) > LONGEST_TEXT:
            text = f"{text[:40]}…"
        try:
            return parse(text)
        except CaudalError as error:
            raise told_by(error) from None

    return BeforeValidator(read)


def _schema(what: str, *examples: str | float) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": ["string", "number"],
            "maxLength": LONGEST_TEXT,
            "description": what,
            "examples": list(examples),
        }
    )


Length = Annotated[
    Tokens, _reader(quantities.parse_tokens, ""), _schema("A length in tokens.", "8k", 2000)
]
Duration = Annotated[
    Seconds, _reader(quantities.parse_duration, "s"), _schema("A time.", "500ms", 1.5)
]
Rate = Annotated[
    RequestsPerSecond,
    _reader(quantities.parse_rate, "/s"),
    _schema("Requests a second.", "300/min", 5),
]
Size = Annotated[Bytes, _reader(quantities.parse_bytes, "B"), _schema("A size.", "79.6GiB")]
Bandwidth = Annotated[
    BytesPerSecond, _reader(quantities.parse_bandwidth, "B/s"), _schema("A bandwidth.", "900GB/s")
]
Amount = Annotated[int, _reader(quantities.parse_count, ""), _schema("An amount.", "13B", "50M")]
HourlyPrice = Annotated[
    UsdPerHour, _reader(quantities.parse_usd_per_hour, ""), _schema("A price.", "$25/h", 2.5)
]
Budget = Annotated[
    Decimal, _reader(parse_monthly_budget, ""), _schema("Dollars a month.", "$5,000", 5000)
]
Share = Annotated[float, _reader(quantities.parse_fraction, ""), _schema("A share.", "30%", 0.3)]
Count = Annotated[
    tuple[int, ...],
    _reader(quantities.parse_gpu_counts, "", listed=True),
    _schema("Numbers of GPUs.", "1..8"),
]
Batches = Annotated[
    tuple[int, ...],
    _reader(parse_batches, "", listed=True),
    _schema("Sequences at once.", "1,8,32", 8),
]
Number = Annotated[Decimal, _reader(parse_number, ""), _schema("A number.", "7.5", 7)]
AgeDays = Annotated[int, _reader(parse_age_days, ""), _schema("An age.", "90d", "6months", 30)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]
