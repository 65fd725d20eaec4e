from decimal import Decimal

import pytest

from caudal.fit.rules_of_thumb import largest_model_parameters, prudent_parameters
from golden.seeds.our_prices import PRICES
from golden.seeds.our_sizes import SIZES, gpu
from golden.seeds.seed_figures import Figure, agrees, compute, rounded, seed_figures

RULES = {**SIZES, **PRICES}
FIGURES = seed_figures()


def figure_id(figure: Figure) -> str:
    return f"{figure.seed.replace(' ', '+')} {figure.section}: {figure.what}"


@pytest.mark.parametrize("figure", FIGURES, ids=figure_id)
def test_our_figure_is_what_the_seed_prints_or_rightly_differs(figure: Figure) -> None:
    value = compute(figure, RULES)

    if figure.differs:
        assert agrees(value, figure.ours, figure.rule if figure.rule != "between" else "round 2")
        assert not agrees(value, figure.printed, figure.rule), "the seed is right after all"
    else:
        assert agrees(value, figure.printed, figure.rule), f"{figure.printed} but {value}"


def test_the_4_bit_column_follows_from_0_6_bytes_and_no_other_tenth() -> None:
    table = [figure for figure in FIGURES if figure.section == "GPU table"]
    column = [figure for figure in table if figure.what.endswith("largest model, 4 bit")]

    def explains(bytes_per_parameter: float) -> bool:
        return all(
            prudent_parameters(
                largest_model_parameters(
                    gpu(figure.call[1][0]).memory_bytes, bytes_per_parameter=bytes_per_parameter
                )
            )
            == int(figure.printed) * 10**9
            for figure in column
        )

    explaining = [thousandths for thousandths in range(400, 800) if explains(thousandths / 1000)]
    assert len(column) == 9
    assert explaining == list(range(594, 615))


def test_every_figure_that_differs_says_why() -> None:
    assert not [figure.what for figure in FIGURES if figure.differs and not figure.why]


def test_no_figure_is_listed_twice() -> None:
    ids = [figure_id(figure) for figure in FIGURES]

    assert len(set(ids)) == len(ids)


def test_all_five_pages_are_covered() -> None:
    covered = {seed for figure in FIGURES for seed in figure.seed.split()}

    assert covered == {"000", "001", "002", "003", "004"}


@pytest.mark.parametrize(
    ("value", "decimals", "expected"), [(58.5, 0, "59"), (1.375, 2, "1.38"), (12168, -1, "12170")]
)
def test_pages_round_halves_up(value: float, decimals: int, expected: str) -> None:
    assert rounded(value, decimals) == Decimal(expected)
