"""The printed figures of five pages about GPUs for inference, and how ours must agree.

The pages ("seeds") were read on 2026-11-30: 000 and 003 are one page of EverXCloud in Spanish and
in Indonesian, 001 a guide of a GPU cloud with a budget method, 002 a guide without figures, 004 a
page of GPU Rent Hub. Only the figures are used here.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("figures.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One printed figure.

    `rule` says how close ours must come: `round N` (ours, rounded half up to N decimals, is what
    is printed), `about N %`, `between` (printed is a range), `text` (the same words).
    `ours` is given only where ours rightly differs; `why` then says which is right.
    """

    seed: str
    section: str
    what: str
    printed: str
    unit: str
    rule: str
    compute: str
    ours: str
    why: str

    @property
    def differs(self) -> bool:
        """Return whether ours rightly is not what the page prints."""
        return self.ours != ""

    @property
    def call(self) -> tuple[str, tuple[str, ...]]:
        """Return the name of our computation and its arguments."""
        name, *arguments = self.compute.split()
        return name, tuple(arguments)


def seed_figures() -> tuple[Figure, ...]:
    """Return all figures in the order of the pages."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(Figure(**row) for row in csv.DictReader(file))


def compute(figure: Figure, rules: Mapping[str, Callable[..., float | str]]) -> float | str:
    """Return our value for `figure`."""
    name, arguments = figure.call
    return rules[name](*arguments)


def agrees(value: float | str, printed: str, rule: str) -> bool:
    """Return whether `value` is what is printed, by the figure's own rule."""
    kind, _, amount = rule.partition(" ")
    if kind == "text" or isinstance(value, str):
        return (value if isinstance(value, str) else f"{value:g}") == printed
    match kind:
        case "round":
            return rounded(value, int(amount)) == Decimal(printed)
        case "about":
            share = float(amount.removesuffix(" %")) / 100
            return abs(value / float(printed) - 1) <= share
        case "between":
            low, high = printed.split("–")
            return float(low) <= value <= float(high)
    raise AssertionError(f"no such rule: {rule}")


def rounded(value: float, decimals: int) -> Decimal:
    """Return `value` rounded half up, as pages print; -1 is to the nearest ten.

    Ten digits first, so that 0.125 stored as 0.12499999999999999 counts as the half it is.
    """
    exact = Decimal(f"{value:.10g}")
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def shown(value: float | str, rule: str) -> str:
    """Return our value as the table prints it: one more decimal than the page's."""
    if isinstance(value, str):
        return value
    kind, _, amount = rule.partition(" ")
    decimals = max(int(amount) + 1, 0) if kind == "round" else 2
    text = f"{rounded(value, decimals):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
