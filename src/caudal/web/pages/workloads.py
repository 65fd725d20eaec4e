"""Other workloads than serving: training and fine-tuning computed, the rest by sourced ranges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from caudal.documents.gpu_overview import cheapest_gpu_hours
from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import model_catalogue
from caudal.facts.requirements import Requirement, requirements
from caudal.fit.training import (
    Method,
    TrainingMemory,
    TrainingQuestion,
    fewest_gpus,
    needs_by_gpus,
    training_memory,
)
from caudal.offers.offer import Offer
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.quantities import parse_count, parse_tokens
from caudal.vocabulary.units import GIB
from caudal.web.asking import model_named
from caudal.web.charts.bars import Part, stacked_bar
from caudal.web.languages import later
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.home import TERMS

PARTS: Final = {
    "weights": later("Weights"),
    "gradients": later("Gradients"),
    "optimiser": later("Optimiser states"),
    "activations": later("Activations"),
    "other": later("Driver, buffers, fragmentation"),
}
KINDS: Final = {
    "weights": "weights",
    "gradients": "graphs",
    "optimiser": "kv",
    "activations": "activation",
    "other": "other",
}
MOST_GPUS_SHOWN: Final = 25
METHODS: Final = {
    Method.FULL: later("all weights"),
    Method.LORA: later("LoRA: adapters on a 16-bit base"),
    Method.QLORA: later("QLoRA: adapters on a 4-bit base"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A GPU that holds it, how many of them, and the cheapest price."""

    gpu: GpuSpec
    gpus: int
    offer: Offer | None

    @property
    def usd_per_hour(self) -> float | None:
        """Return the price of all of them for an hour."""
        if self.offer is None:
            return None
        return float(self.offer.price_usd_per_gpu_hour) * self.gpus


def show_workloads(page: Page) -> Shown:  # noqa: ARG001
    """Return the list of other workloads."""
    return Shown("workloads.html", {})


def show_training(page: Page) -> Shown:
    """Return the memory of pre-training or full fine-tuning."""
    return _computed(page, methods=(Method.FULL,), usual=Method.FULL, stage="3", gpus="8")


def show_fine_tuning(page: Page) -> Shown:
    """Return the memory of fine-tuning, by adapters or in full."""
    return _computed(page, methods=tuple(Method), usual=Method.QLORA, stage="0", gpus="1")


def _computed(
    page: Page, *, methods: tuple[Method, ...], usual: Method, stage: str, gpus: str
) -> Shown:
    name = page.get("model", "llama-3.1-8b") or "llama-3.1-8b"
    values: dict[str, object] = {
        "training": len(methods) == 1,
        "model_name": name,
        "models": model_catalogue().entries,
        "method": page.get("method", usual.value) or usual.value,
        "method_pairs": [(item.value, page.gettext(METHODS[item])) for item in methods],
        "stage": page.get("zero", stage) or stage,
        "stage_pairs": [
            ("0", page.gettext("0: nothing shared")),
            ("1", page.gettext("1: optimiser states")),
            ("2", page.gettext("2: and gradients")),
            ("3", page.gettext("3: and weights")),
        ],
        "gpus": page.get("gpus", gpus) or gpus,
        "sequence": page.get("sequence", "4096") or "4096",
        "batch": page.get("batch", "1") or "1",
        "rank": page.get("rank", "16") or "16",
        "checkpointing": page.get("checkpointing", "yes") or "yes",
        "failure": None,
        "memory": None,
    }
    try:
        values |= _answer(page, values, name)
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("training.html", {**values, "failure": failure}, status)
    return Shown("training.html", values)


def _answer(page: Page, values: Mapping[str, object], name: str) -> dict[str, object]:
    method, stage = str(values["method"]), str(values["stage"])
    if method not in set(Method) or stage not in {"0", "1", "2", "3"}:
        raise InvalidQuantityError(
            f"There is no method {method[:20]!r} at stage {stage[:20]!r}.",
            remedy=f"Choose {', '.join(Method)}, and a stage from 0 to 3.",
        )
    question = TrainingQuestion(
        model=model_named(page, name),
        method=Method(method),
        zero_stage=int(stage),
        gpus=parse_count(str(values["gpus"])),
        sequence_tokens=parse_tokens(str(values["sequence"])),
        micro_batch=parse_count(str(values["batch"])),
        rank=parse_count(str(values["rank"])),
        checkpointing=values["checkpointing"] != "no",
    )
    memory, needs = training_memory(question), needs_by_gpus(question)
    return {
        "question": question,
        "memory": memory,
        "parts": PARTS,
        "kinds": KINDS,
        "chart": _chart(page, memory),
        "fitting": _fitting(page, lambda gpu: fewest_gpus(needs, float(gpu.usable_bytes))),
        "terms": TERMS,
        "by_method": [
            (METHODS[item], training_memory(replace(question, method=item))) for item in Method
        ],
    }


def _chart(page: Page, memory: TrainingMemory) -> Markup:
    figures = page.figures
    parts = [
        Part(
            name=page.gettext(PARTS[name]),
            size=size.value / GIB,
            kind=KINDS[name],
            text=f"{figures.gib(size.value)} GiB",
        )
        for name, size in memory.terms
    ]
    total = memory.total
    return stacked_bar(
        parts,
        limit=total.high / GIB,
        limit_text=page.gettext("careful end: %(size)s GiB", size=figures.gib(total.high)),
        title=page.gettext("Memory of one GPU, in GiB"),
        unit_text=lambda value: figures.significant(value, 2),
    )


def _fitting(page: Page, count: Callable[[GpuSpec], int | None]) -> list[Fitting]:
    """Return the GPUs that hold it, those with a price first, cheapest first."""
    offers = cheapest_gpu_hours(page.services.book(), None)
    found = [
        Fitting(gpu=gpu, gpus=gpus, offer=offers.get(gpu.id))
        for gpu in gpu_catalogue().all
        if (gpus := count(gpu)) is not None and not gpu.unified_memory
    ]
    found.sort(key=lambda item: (item.usd_per_hour is None, item.usd_per_hour or 0.0, item.gpus))
    return found[:MOST_GPUS_SHOWN]


def show_images(page: Page) -> Shown:
    """Return what image and video generation ask for."""
    return _listed(page, "images")


def show_rendering(page: Page) -> Shown:
    """Return what 3D rendering asks for."""
    return _listed(page, "3d")


def show_science(page: Page) -> Shown:
    """Return what scientific computing asks for."""
    return _listed(page, "science")


def _listed(page: Page, kind: str) -> Shown:
    rows = [item for item in requirements() if item.kind == kind]
    chosen = _chosen(page, rows)
    wanted = None if chosen is None else chosen.wanted_bytes
    fitting = (
        []
        if wanted is None
        else _fitting(page, lambda gpu: 1 if gpu.memory_bytes >= wanted else None)
    )
    return Shown(
        "requirements.html",
        {"kind": kind, "rows": rows, "chosen": chosen, "fitting": fitting, "terms": TERMS},
    )


def _chosen(page: Page, rows: list[Requirement]) -> Requirement | None:
    """Return the row asked for, else the one that asks for most."""
    text = page.get("row")
    if text.isascii() and text.isdigit() and int(text[:4]) < len(rows):
        return rows[int(text)]
    known = [row for row in rows if row.wanted_bytes is not None]
    return max(known, key=lambda row: row.wanted_bytes or 0, default=None)
