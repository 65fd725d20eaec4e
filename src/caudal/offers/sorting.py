"""What offers can be ordered by: a column, or what a million tokens of a model would cost."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from caudal.facts.gpus import gpu_catalogue
from caudal.offers.book import OfferBook
from caudal.offers.table import Floats
from caudal.offers.worth import tokens_per_s_of
from caudal.vocabulary.errors import UnknownNameError
from caudal.vocabulary.units import SECONDS_PER_HOUR

WORTH: Final = "usd_per_million_tokens"
_MILLION: Final = 1e6


class UnknownFieldError(UnknownNameError):
    """Offers have no field of this name to be ordered by."""

    code, noun = "unknown-field", "field"


SORT_FIELDS: Final[Mapping[str, Callable[[OfferBook], Floats]]] = {
    "price": lambda book: book.number("price_usd_per_gpu_hour"),
    "usd_per_gpu_hour": lambda book: book.number("price_usd_per_gpu_hour"),
    "usd_per_hour": lambda book: book.derived("usd_per_hour"),
    "gpu_count": lambda book: book.number("gpu_count"),
    "total_memory": lambda book: -book.derived("total_memory_bytes"),
    "bandwidth": lambda book: -book.derived("memory_bytes_per_s"),
    "usd_per_memory": lambda book: (
        book.derived("usd_per_hour") / book.derived("total_memory_bytes")
    ),
    "age": lambda book: -book.number("observed_on"),
    "cold_start": lambda book: book.number("cold_start_s"),
    "reliability": lambda book: -book.number("reliability"),
}


def sort_figures(book: OfferBook, wanted: str) -> Floats:
    """Return a figure for every row of the book, the better the smaller; NaN where unknown.

    `usd_per_million_tokens:MODEL@FORMAT` is what a million output tokens cost on the whole
    instance at full load (`worth`).

    Raises:
        UnknownFieldError: there is no such field; the nearest are named.
        UnknownModelError, UnknownPrecisionError: with the nearest names.
    """
    name, _, model = wanted.partition(":")
    if name == WORTH and model:
        return _usd_per_million(book, model)
    if name not in SORT_FIELDS or model:
        known = [*SORT_FIELDS, f"{WORTH}:MODEL@FORMAT"]
        hint = f"Known: {', '.join(known)}."
        if name == WORTH:
            hint = f"Write {WORTH}:llama-3.1-70b@fp8."
        raise UnknownFieldError(wanted, known=known, hint=hint)
    return SORT_FIELDS[name](book)


def _usd_per_million(book: OfferBook, model: str) -> Floats:
    """Return $/h over the million tokens of an hour; NaN where the model does not run."""
    rates = tokens_per_s_of(model)
    catalogue = gpu_catalogue()
    tokens = np.full(book.number("gpu_count").size, np.nan)
    start = 0
    for part in book.parts:
        column = part.table.text("gpu_id")
        counts = part.table.number("gpu_count")
        whole = part.table.number("gpu_fraction") == 1
        pairs, inverse = np.unique(
            np.stack([column.codes.astype(np.float64), counts]), axis=1, return_inverse=True
        )
        speeds = np.array(
            [
                rates(catalogue.get(str(column.values[int(code)])), int(count))
                for code, count in pairs.T
            ]
        )
        found = speeds[inverse.ravel()] if speeds.size else np.array([])
        tokens[start : start + part.table.size] = np.where(whole, found, np.nan)
        start += part.table.size
    figures: Floats = book.derived("usd_per_hour") / (tokens * SECONDS_PER_HOUR / _MILLION)
    return figures
