from decimal import Decimal

import pytest

from caudal.offers.checks import impossibility, largest_node
from offer_cases import FACTS


def problem(gpu_id: str, count: int, fraction: str, memory_gb: str | None) -> str | None:
    return impossibility(
        FACTS.gpus[gpu_id],
        count=count,
        fraction=Decimal(fraction),
        memory_gb_each=None if memory_gb is None else Decimal(memory_gb),
    )


@pytest.mark.parametrize(
    ("gpu_id", "count", "fraction", "memory_gb"),
    [
        ("h100-sxm", 8, "1", "80"),
        ("h100-sxm", 8, "1", None),
        ("a100-40g-sxm", 16, "1", "40"),
        ("a10", 1, "0.1667", "4"),
        ("l4", 1, "0.125", "2.8"),
        ("b200", 8, "1", "179"),
        ("rtx-4090", 10, "1", "24"),
    ],
)
def test_what_is_sold_is_possible(
    gpu_id: str, count: int, fraction: str, memory_gb: str | None
) -> None:
    assert problem(gpu_id, count, fraction, memory_gb) is None


@pytest.mark.parametrize(
    ("gpu_id", "count", "fraction", "memory_gb", "reason"),
    [
        ("h100-sxm", 1, "1", "22", "H100 SXM5 80GB has 80 GB, the row says 22 GB"),
        ("h100-sxm", 12, "1", "80", "holds at most 8 NVIDIA H100"),
        ("l4", 17, "1", "24", "holds at most 16"),
        ("l4", 0, "1", "24", "0 GPUs"),
        ("l4", 1, "0", "24", "not within 0 and 1"),
        ("l4", 1, "1.5", "24", "not within 0 and 1"),
        ("l4", 1, "NaN", "24", "not within 0 and 1"),
        ("l4", 1, "1", "NaN", "the row says NaN GB"),
        ("a10", 1, "0.1667", "24", "0.1667 of a NVIDIA A10"),
    ],
)
def test_a_row_against_the_facts_says_why(
    gpu_id: str, count: int, fraction: str, memory_gb: str, reason: str
) -> None:
    found = problem(gpu_id, count, fraction, memory_gb)

    assert found is not None
    assert reason in found


def test_exceptions_to_eight_are_known() -> None:
    assert 16 == largest_node(FACTS.gpus["a100-40g-sxm"])
    assert 8 == largest_node(FACTS.gpus["mi300x"])
