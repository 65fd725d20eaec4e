import pytest

from caudal.facts.precision import Role
from caudal.fit.tensors import allocation_slack, fused_name, fused_slack
from caudal.vocabulary.units import MIB


@pytest.mark.parametrize(
    ("tensor", "slack"),
    [
        (9.5, 0.0),  # small tensors share segments
        (10.0, 0.0),
        (35.0, 1.0),  # the rest of 36 MiB is too small to be split off
        (34.5, 0.0),  # 1.5 MiB are given to others
        (135.0, 1.0),
        (67.5, 0.5),
    ],
)
def test_large_tensors_round_up_to_two_mebibytes(tensor: float, slack: float) -> None:
    assert slack * MIB == allocation_slack(tensor * MIB)


def test_queries_are_stored_with_keys_and_values() -> None:
    assert fused_name(Role.QUERY) == fused_name(Role.KEY_VALUE) == "attention"
    assert fused_name(Role.NORM) is None


def test_gate_and_up_are_one_tensor_down_another() -> None:
    assert fused_slack("dense", 3 * 35.5 * MIB) == (1.0 + 0.5) * MIB
