import json

from caudal.calibrate.memory_rows import read_memory_rows

ROW = {"id": "one", "engine": "llama.cpp", "model": "m", "outcome": "ok"}


def numbers(**entry: object) -> dict[str, float]:
    (row,) = read_memory_rows([json.dumps({**ROW, **entry})], file="rows")
    return dict(row.numbers)


def test_buffers_of_one_device_are_read() -> None:
    assert {"gpu_weight_buffers_gib": 5.9} == numbers(gpu_weight_buffers_gib=[5.9])


def test_buffers_of_several_devices_are_nobodys() -> None:
    assert {} == numbers(gpu_weight_buffers_gib=[5.9, 6.1])
