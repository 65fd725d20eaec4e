"""Constants fitted to measurements: how much of its datasheet a GPU reaches under an engine.

Each parameter is a sum of offsets, from the most general to the most particular level at hand:
a GPU never measured stands where its generation stands, an engine never measured where all do.
The numbers are made by `make calibrate`; `calibrate.speed_fit` says how.
"""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final, cast

from caudal.vocabulary.errors import InvalidFactError
from caudal.vocabulary.units import FlopPerSecond

_FOLDER: Final = "data/calibration"
_CONSTANTS: Final = "speed.json"
_SUPPLEMENTS: Final = "compute_rates.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedParameter:
    """One constant: its value for everything, and what each level adds to it.

    The value stands in the scale it was fitted in: a logit for shares between 0 and 1, a
    logarithm for positive quantities.
    """

    base: float
    levels: Mapping[str, Mapping[str, float]]  # level → key → offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedCalibration:
    """All constants of the speed model, with what is known about their errors."""

    parameters: Mapping[str, FittedParameter]
    spreads: Mapping[str, Mapping[str, float]]  # metric → how well known → factor of the 80 % range
    measured: frozenset[str]  # "engine|generation" and "engine|gpu" pairs that rows were fitted on
    rows: int
    fitted_on: str  # ISO date


@lru_cache(maxsize=1)
def speed_calibration() -> SpeedCalibration:
    """Return the constants that ship with Caudal.

    Raises:
        InvalidFactError: the file is damaged.
    """
    text = (resources.files("caudal.facts") / _FOLDER / _CONSTANTS).read_text("utf-8")
    return parse_speed_calibration(text, where=_CONSTANTS)


def parse_speed_calibration(text: str, *, where: str) -> SpeedCalibration:
    """Return the constants written in `text`, as `make calibrate` writes them.

    Raises:
        InvalidFactError: `text` is not of that form; the message says where.
    """
    try:
        document = cast("dict[str, object]", json.loads(text))
        parameters = cast("dict[str, dict[str, object]]", document["parameters"])
        return SpeedCalibration(
            parameters={name: _parameter(entry) for name, entry in parameters.items()},
            spreads={
                metric: {key: float(value) for key, value in known.items()}
                for metric, known in cast(
                    "dict[str, dict[str, float]]", document["spreads"]
                ).items()
            },
            measured=frozenset(cast("list[str]", document["measured"])),
            rows=int(cast("int", document["rows"])),
            fitted_on=str(document["fitted_on"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidFactError(
            f"{where} does not hold speed constants: {error!r}.",
            remedy="Write it anew with make calibrate, or install Caudal again.",
        ) from error


def _parameter(entry: Mapping[str, object]) -> FittedParameter:
    levels = cast("dict[str, dict[str, float]]", entry["levels"])
    return FittedParameter(
        base=float(cast("float", entry["base"])),
        levels={
            level: {key: float(offset) for key, offset in offsets.items()}
            for level, offsets in levels.items()
        },
    )


@lru_cache(maxsize=1)
def compute_rate_supplements() -> Mapping[str, FlopPerSecond]:
    """Return 16-bit rates of GPUs whose makers publish none, by catalogue id.

    Computed from published core counts and clocks; each row of the file says how.
    """
    text = (resources.files("caudal.facts") / _FOLDER / _SUPPLEMENTS).read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["gpu_id"]: FlopPerSecond(float(row["bf16_tflops"]) * 1e12) for row in rows}
