import json
from datetime import date
from pathlib import Path
from typing import cast

import numpy as np

from caudal.calibrate.speed_calibrate import calibrate_speed, written
from caudal.calibrate.speed_choice import best_layouts, read_row_set
from caudal.calibrate.speed_fit import fit_data, fitted_parameters, predictions, solve, targets_of
from caudal.calibrate.speed_rows import Metric
from caudal.facts.calibration import parse_speed_calibration, speed_calibration

ROWS = Path(__file__).parents[2] / "data" / "speed_rows.jsonl"


def sample(folder: Path, *, rows: int) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(ROWS.read_text("utf-8").splitlines()[:rows]), encoding="utf-8")
    return path


def test_fitting_brings_predictions_nearer(tmp_path: Path) -> None:
    cases = best_layouts(read_row_set(sample(tmp_path, rows=40), tmp_path), speed_calibration())
    data = fit_data(cases)
    measured = np.array([case.row.measured.get(Metric.OUTPUT, np.nan) for case in cases])

    before = predictions(data, data.start)[Metric.OUTPUT] / measured
    values = solve(data, targets_of(cases, np.ones(len(cases), dtype=np.bool_)), rounds=4)
    after = predictions(data, values)[Metric.OUTPUT] / measured

    assert np.nanmedian(np.abs(np.log(after))) < 0.5 * np.nanmedian(np.abs(np.log(before)))


def test_a_key_that_no_chosen_row_has_stays_at_its_parent(tmp_path: Path) -> None:
    cases = best_layouts(read_row_set(sample(tmp_path, rows=40), tmp_path), speed_calibration())
    data = fit_data(cases)
    chosen = np.array([case.gpu.id != cases[0].gpu.id for case in cases])

    values = solve(data, targets_of(cases, chosen), rounds=2)

    offsets = [
        abs(value)
        for (_, level, key), value in zip(data.unknowns, values, strict=True)
        if level == "gpu" and key == cases[0].gpu.id
    ]
    assert max(offsets) < 1e-9
    assert all(name in fitted_parameters(data, values) for name in ("memory", "compute"))


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows = sample(tmp_path, rows=12)
    lines: list[str] = []

    first, second = (
        written(
            calibrate_speed(
                rows,
                models=tmp_path,
                today=date(2026, 11, 30),
                report=lines.append,
                judged_by=("groups",),
            )
        )
        for _ in range(2)
    )

    assert first == second
    assert parse_speed_calibration(first, where="test").rows == 12
    errors = cast("dict[str, dict[str, object]]", json.loads(first)["errors"])
    assert set(errors) == {"groups", "fitted"}
    assert lines
