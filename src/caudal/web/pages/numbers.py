"""How the numbers are made: formulas, sources, errors, words, and the questions people ask."""

from datetime import date
from typing import Final

from caudal.documents.gpu_overview import cheapest_gpu_hours, smallest_rows, stream_speeds
from caudal.facts.accuracy import judged_figures
from caudal.facts.calibration import speed_calibration
from caudal.facts.engines import engine
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.precisions import kv_format, weight_format
from caudal.fit.needs import memory_needs
from caudal.fit.rules_of_thumb import (
    BYTES_AT_4_BIT_STORED,
    largest_model_parameters,
    prudent_parameters,
)
from caudal.fit.serving import Serving
from caudal.offers.offer import Term
from caudal.speed.ceiling import decode_ceiling, decode_flop_per_byte, ridge_flop_per_byte
from caudal.vocabulary.units import GB, Bytes
from caudal.web.languages import later
from caudal.web.page import Page, Shown

METRICS: Final = {"ttft": "TTFT", "tpot": "TPOT", "output_tok_s": later("output tokens a second")}
LEVELS: Final = {
    "gpu": later("this engine on this GPU was measured"),
    "generation": later("on another GPU of its generation"),
    "none": later("neither"),
}


def show_numbers(page: Page) -> Shown:
    """Return the page with every figure of its answers computed now."""
    calibration = speed_calibration()
    return Shown(
        "numbers.html",
        {
            "calibration": calibration,
            "fitted_on": date.fromisoformat(calibration.fitted_on),
            "accuracy": judged_figures(),
            "metrics": METRICS,
            "levels": LEVELS,
            "a": _answers(page),
        },
    )


def _answers(page: Page) -> dict[str, float | int | None]:
    """Return the figures that the answers name."""
    catalogue = gpu_catalogue()
    h100, card = catalogue.get("h100-sxm"), catalogue.get("rtx-4090")
    assert h100.dense_bf16_flop_per_s is not None, "H100 has a 16-bit rate"
    large = {name: _weights(page, "llama-3.1-70b", name) for name in ("bf16", "fp8", "int4")}
    small = {name: _weights(page, "llama-3.1-8b", name) for name in ("bf16", "int8", "int4")}
    nominal = Bytes(16 * GB)
    return {
        **{f"large_{name}_gb": size / GB for name, size in large.items()},
        **{f"small_{name}_gb": size / GB for name, size in small.items()},
        "large_bf16_h100s": _fewest(page, "llama-3.1-70b", "bf16", "h100-sxm"),
        "large_fp8_h100s": _fewest(page, "llama-3.1-70b", "fp8", "h100-sxm"),
        "large_int4_h100s": _fewest(page, "llama-3.1-70b", "int4", "h100-sxm"),
        "card_4_bit_b": prudent_parameters(
            largest_model_parameters(card.memory_bytes, bytes_per_parameter=BYTES_AT_4_BIT_STORED)
        )
        / 1e9,
        "card_gb_s": card.memory_bytes_per_s / 1e9,
        "card_users_bf16": _users(page, "llama-3.1-8b", "bf16", "rtx-4090"),
        "card_users_int8": _users(page, "llama-3.1-8b", "fp8", "rtx-4090"),
        "card_users_int4": _users(page, "llama-3.1-8b", "int4", "rtx-4090"),
        "card_ceiling": decode_ceiling(card.memory_bytes_per_s, weight_bytes=nominal),
        "h100_ceiling": decode_ceiling(h100.memory_bytes_per_s, weight_bytes=nominal),
        **{
            f"speed_{key}": _speed(page, "llama-3.1-8b", precision, gpu)
            for key, precision, gpu in (
                ("card", "bf16", "rtx-4090"),
                ("card_int4", "int4", "rtx-4090"),
                ("a100", "bf16", "a100-80g-sxm"),
                ("h100", "bf16", "h100-sxm"),
            )
        },
        **{f"price_{key}": _price(page, gpu, None) for key, gpu in _PRICED.items()},
        "ridge": ridge_flop_per_byte(
            h100.dense_bf16_flop_per_s, memory_bytes_per_s=h100.memory_bytes_per_s
        ),
        "decode_intensity": decode_flop_per_byte(bytes_per_parameter=2.0),
        **{
            f"kv_{thousands}_gb": _cache_bytes(page, "llama-3.1-70b", thousands * 1024) / GB
            for thousands in (8, 32, 128)
        },
        **_rent(page),
    }


_PRICED: Final = {"card": "rtx-4090", "a100": "a100-80g-sxm", "h100": "h100-sxm"}


def _rent(page: Page) -> dict[str, float | None]:
    """Return where a month and single hours of one H100 cost the same, and an idle L4's tokens."""
    month = _price(page, "h100-sxm", Term.MONTHLY)
    hour = _price(page, "h100-sxm", Term.HOURLY)
    idle = _price(page, "l4", Term.MONTHLY)
    return {
        "month_usd": None if month is None else month * 720,
        "hour_usd": hour,
        "even_hours": None if month is None or hour is None else month * 720 / hour,
        "idle_usd": None if idle is None else idle * 720,
        "idle_usd_per_million": None if idle is None else idle * 720 / 10,
    }


def _weights(page: Page, model: str, precision: str) -> float:
    serving = Serving(
        engine=engine("vllm"), weight_format=weight_format(precision), kv_format=kv_format("bf16")
    )
    return memory_needs(page.services.model(model), serving).weights.value


def _cache_bytes(page: Page, model: str, tokens: int) -> float:
    """Return what one request of a length keeps in 16 bit."""
    serving = Serving(
        engine=engine("vllm"), weight_format=weight_format("bf16"), kv_format=kv_format("bf16")
    )
    return memory_needs(page.services.model(model), serving).kv.request_bytes(tokens)


def _fewest(page: Page, model: str, precision: str, gpu: str) -> int | None:
    row = smallest_rows(
        page.services.model(model), precision=precision, gpus=[gpu_catalogue().get(gpu)]
    ).get(gpu)
    return None if row is None else row.gpus


def _users(page: Page, model: str, precision: str, gpu: str) -> int:
    row = smallest_rows(
        page.services.model(model), precision=precision, gpus=[gpu_catalogue().get(gpu)]
    ).get(gpu)
    return 0 if row is None or row.memory is None else int(row.memory.max_concurrency.low)


def _speed(page: Page, model: str, precision: str, gpu: str) -> float | None:
    spec, name = gpu_catalogue().get(gpu), page.services.model(model)
    rows = smallest_rows(name, precision=precision, gpus=[spec])
    speed = stream_speeds(name, precision=precision, rows=rows).get(gpu)
    return None if speed is None else speed.value


def _price(page: Page, gpu: str, term: Term | None) -> float | None:
    offer = cheapest_gpu_hours(page.services.book(), term).get(gpu)
    return None if offer is None else float(offer.price_usd_per_gpu_hour)
