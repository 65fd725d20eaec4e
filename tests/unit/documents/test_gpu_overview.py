"""The live form of EverXCloud's table (../shared seeds, "GPU para inferencia de LLM")."""

from datetime import date

import pytest

from caudal.documents.gpu_overview import GpuStanding, gpu_standings
from caudal.facts.models import resolve_model
from caudal.offers.bundled import bundled_offers

BOOK = bundled_offers(today=date(2026, 11, 30))


@pytest.fixture(scope="module")
def standings() -> dict[str, GpuStanding]:
    rows = gpu_standings(resolve_model("llama-3.1-8b"), precision="bf16", book=BOOK)
    return {row.gpu.id: row for row in rows}


@pytest.mark.parametrize(
    ("gpu", "largest_16", "largest_4", "ceiling"),
    [
        ("l4", 9, 30, 19),
        ("rtx-4090", 9, 30, 63),
        ("l40s", 15, 60, 54),
        ("a100-80g-sxm", 30, 100, 127),
        ("h100-sxm", 30, 100, 208),
        ("mi300x", 75, 250, 330),
    ],
)
def test_a_row_has_the_figures_of_the_published_table(
    standings: dict[str, GpuStanding], gpu: str, largest_16: int, largest_4: int, ceiling: int
) -> None:
    row = standings[gpu]

    assert largest_16 == row.largest_16_bit / 1e9
    assert largest_4 == row.largest_4_bit / 1e9
    assert row.ceiling_tokens_per_s == pytest.approx(ceiling, abs=1)


def test_a_stream_stays_below_the_ceiling_of_all_its_gpus(
    standings: dict[str, GpuStanding],
) -> None:
    predicted = [row for row in standings.values() if row.stream_tokens_per_s is not None]

    assert len(predicted) > 50
    for row in predicted:
        assert row.gpus is not None
        assert row.stream_tokens_per_s is not None
        assert row.stream_tokens_per_s.value < row.ceiling_tokens_per_s * row.gpus


def test_a_price_is_the_cheapest_hourly_one(standings: dict[str, GpuStanding]) -> None:
    row = standings["l4"]

    assert row.offer is not None
    assert "hourly" == row.offer.term
    assert row.age_days == row.offer.age_days(BOOK.today)


def test_what_fits_nowhere_says_so() -> None:
    rows = gpu_standings(resolve_model("deepseek-v3"), precision="bf16", book=BOOK)

    assert any(row.gpus is None and row.stream_tokens_per_s is None for row in rows)
