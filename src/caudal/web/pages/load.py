"""Under load: latency percentiles over the rate for one deployment, and where it saturates."""

import json
from collections.abc import Mapping
from typing import Final, cast

from markupsafe import Markup

from caudal.documents.jobs import JobState
from caudal.documents.load import scenario_of, search_capacity
from caudal.documents.values import Json, json_value
from caudal.facts.gpus import gpu_catalogue
from caudal.facts.models import model_catalogue
from caudal.simulate.compiled import is_compiled
from caudal.vocabulary.errors import CaudalError, InvalidQuantityError
from caudal.vocabulary.quantities import parse_count, parse_duration, parse_tokens
from caudal.web.charts.lines import Line, Rule, line_chart
from caudal.web.page import Page, Shown, failure_shown
from caudal.web.pages.fit import COUNTS, KV_PRECISIONS
from caudal.web.pages.home import PRECISIONS

QUICK_REQUESTS: Final = 1_000  # of one run; chosen: some 25 runs take a tenth of a second
PLAIN_REQUESTS: Final = 100  # without the compiled simulator
LONG_REQUESTS: Final = 20_000
MOST_REPLICAS: Final = 256
USUAL: Final = {
    "model": "llama-3.1-70b",
    "gpu": "h100-sxm",
    "tp": "4",
    "replicas": "1",
    "precision": "fp8",
    "kv_precision": "bf16",
    "input": "2000",
    "output": "300",
    "ttft_p95": "1s",
    "tpot_p95": "50ms",
}
SHOWN: Final = (("ttft", 0.5), ("ttft", 0.95), ("tpot", 0.5), ("tpot", 0.95))


def show_load(page: Page) -> Shown:
    """Return the curve of a deployment: searched now, or by a job that has ended."""
    fields = {name: page.get(name) or usual for name, usual in USUAL.items()}
    for bound in ("ttft_p95", "tpot_p95"):
        if any(name == bound for name, _ in page.query):
            fields[bound] = page.get(bound)
    values: dict[str, object] = {
        "fields": fields,
        "models": model_catalogue().entries,
        "gpus": [(gpu.id, gpu.name) for gpu in gpu_catalogue().all],
        "counts": [(str(count), str(count)) for count in COUNTS],
        "precision_pairs": [(name, name) for name in PRECISIONS],
        "kv_pairs": [(name, name) for name in KV_PRECISIONS],
        "failure": None,
        "found": None,
        "scenario": "",
    }
    try:
        asked = _scenario(fields)
        values["scenario"] = json.dumps({**asked, "run": {"requests": LONG_REQUESTS}})
        found = _found(page, asked)
        values |= {"found": found, "charts": _charts(page, fields, found), "latency": _latency}
    except CaudalError as error:
        failure, status = failure_shown(error)
        return Shown("load.html", {**values, "failure": failure}, status)
    return Shown("load.html", values)


def _scenario(fields: Mapping[str, str]) -> dict[str, Json]:
    """Return the fields of a scenario file, in base units where numbers are asked for."""
    replicas, tensor = parse_count(fields["replicas"]), parse_count(fields["tp"])
    if not 1 <= replicas <= MOST_REPLICAS:
        raise InvalidQuantityError(
            f"{replicas:,} replicas cannot be simulated here.",
            remedy=f"Give 1 to {MOST_REPLICAS}.",
        )
    for bound in ("ttft_p95", "tpot_p95"):
        if fields[bound]:
            parse_duration(fields[bound])
    slo: dict[str, Json] = {
        bound: fields[bound] for bound in ("ttft_p95", "tpot_p95") if fields[bound]
    }
    return {
        "name": "web",
        "model": {
            "name": fields["model"],
            "precision": fields["precision"],
            "kv_precision": fields["kv_precision"],
        },
        "replica": {"gpu": fields["gpu"], "tp": tensor},
        "deployment": {"replicas": replicas},
        "load": {
            "rate": "1/s",
            "input": {"mean": int(parse_tokens(fields["input"])), "variation": 1.0},
            "output": {"mean": int(parse_tokens(fields["output"])), "variation": 1.0},
        },
        "slo": slo,
    }


def _found(page: Page, asked: dict[str, Json]) -> dict[str, Json]:
    """Return the capacity document, of the job that the address names where it is done."""
    name = page.get("job")
    if name:
        job = page.services.jobs.get(name)
        if job.error is not None:
            raise job.error
        if job.state is JobState.DONE and job.answer is not None:
            return cast("dict[str, Json]", json.loads(job.answer.body))
    requests = QUICK_REQUESTS if is_compiled() else PLAIN_REQUESTS
    scenario = scenario_of({**asked, "run": {"requests": requests}}, resolve=page.services.model)
    return cast("dict[str, Json]", json_value(search_capacity(scenario)))


def _latency(row: Mapping[str, Json], metric: str, percentile: float) -> float | None:
    """Return one percentile of a row, None where its queue grows without end."""
    for item in cast("list[dict[str, Json]]", row["latencies"]):
        if item["metric"] == metric and item["percentile"] == percentile:
            return cast("float", item["seconds"])
    return None


def _charts(page: Page, fields: Mapping[str, str], found: Mapping[str, Json]) -> list[Markup]:
    rows = cast("list[dict[str, Json]]", found["rows"])
    best = cast("dict[str, Json] | None", found["best"])
    rules = []
    if best is not None:
        rules.append(Rule(at=cast("float", best["rate"]), label=page.gettext("within the bounds")))
    most = cast("float", found["sustainable_rate"])
    rules.append(Rule(at=most, label=page.gettext("saturated")))
    charts = []
    for metric in ("ttft", "tpot"):
        lines = [
            Line(
                name=f"{metric.upper()} p{round(percentile * 100)}",
                points=tuple(
                    (cast("float", row["rate"]), seconds * 1e3)
                    for row in rows
                    if (seconds := _latency(row, metric, percentile)) is not None
                ),
            )
            for percentile in (0.5, 0.95, 0.99)
        ]
        bound = fields[f"{metric}_p95"]
        if bound:
            limit = float(parse_duration(bound)) * 1e3
            lines.append(
                Line(name=page.gettext("bound at p95"), points=((0.0, limit), (most, limit)))
            )
        charts.append(
            line_chart(
                lines,
                title=page.gettext("%(name)s over the rate", name=metric.upper()),
                x_title=page.gettext("requests a second"),
                y_title=f"{metric.upper()} (ms)",
                x_text=lambda value: page.figures.significant(value, 2),
                y_text=page.figures.number,
                log_y=True,
                rules=rules,
            )
        )
    return charts
