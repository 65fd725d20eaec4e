import json

import pytest

from caudal.facts.calibration import (
    compute_rate_supplements,
    parse_speed_calibration,
    speed_calibration,
)
from caudal.facts.gpus import gpu_catalogue
from caudal.speed.efficiency import Parameter
from caudal.vocabulary.errors import InvalidFactError


def test_every_constant_of_the_speed_model_ships() -> None:
    assert set(Parameter) == set(speed_calibration().parameters)


def test_ranges_widen_as_less_is_known() -> None:
    for spreads in speed_calibration().spreads.values():
        assert 1 <= spreads["gpu"] <= spreads["generation"] <= spreads["none"]


def test_rates_are_added_only_where_the_catalogue_has_none() -> None:
    for gpu_id, rate in compute_rate_supplements().items():
        assert rate > 0
        assert gpu_catalogue().get(gpu_id).dense_bf16_flop_per_s is None


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"parameters": 3})])
def test_a_damaged_file_is_named(text: str) -> None:
    with pytest.raises(InvalidFactError, match=r"speed.json does not hold speed constants"):
        parse_speed_calibration(text, where="speed.json")
