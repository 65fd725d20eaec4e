"""What is to be served, how fast, and for how long: the parameters of `plan` and `budget`."""

from dataclasses import replace

from pydantic import Field

from caudal.documents.plan import MOST_ROWS, PERCENTILES, stated_objectives, stated_wishes
from caudal.documents.use import stated_use
from caudal.http.models_asked import ModelParameters
from caudal.http.offers_asked import OfferParameters
from caudal.http.parameters import (
    Amount,
    Bandwidth,
    Budget,
    Duration,
    Length,
    Names,
    Number,
    Rate,
    Share,
    Size,
)
from caudal.plan.question import Traffic, Wishes
from caudal.traffic.slo import Metric, Objective
from caudal.vocabulary.units import Seconds


class LatencyParameters(ModelParameters):
    """The latency bounds that a deployment has to keep."""

    ttft_p50: Duration | None = None
    ttft_p90: Duration | None = None
    ttft_p95: Duration | None = None
    ttft_p99: Duration | None = None
    tpot_p50: Duration | None = None
    tpot_p90: Duration | None = None
    tpot_p95: Duration | None = None
    tpot_p99: Duration | None = None
    e2e_p50: Duration | None = None
    e2e_p90: Duration | None = None
    e2e_p95: Duration | None = None
    e2e_p99: Duration | None = None

    def objectives(self) -> tuple[Objective, ...]:
        """Return the bounds that were given."""
        bounds: dict[str, Seconds | None] = {
            f"{metric.value}_p{percentile}": getattr(self, f"{metric.value}_p{percentile}")
            for metric in Metric
            for percentile in PERCENTILES
        }
        return stated_objectives(bounds)


class UseParameters(ModelParameters):
    """How the rental is used; what is not said is a machine that is always on."""

    hours_per_day: Number | None = None
    days: Number | None = None
    starts: int | None = Field(default=None, ge=1, le=1_000_000, description="In that time.")
    data_out: Size | None = None
    disk: Size | None = None
    download_rate: Bandwidth | None = None
    discount: Share | None = None
    vat: Share | None = None


class LoadParameters(LatencyParameters, OfferParameters, UseParameters):
    """What is to be served, how fast, on what, and for how long."""

    input: Length | None = None
    output: Length | None = None
    rate: Rate | None = None
    users: int | None = Field(default=None, ge=1, le=10_000_000, description="Users waiting.")
    tokens_per_day: Amount | None = None
    peak_factor: float | None = Field(default=None, ge=1, le=1000)
    batch: bool = Field(default=False, description="All may queue.")
    context: Length | None = None
    gpu: Names = Field(default=[], description="H100, H100:1..8.", examples=[["H100:1..8"]])
    precision: Names = Field(default=[], description="Of the weights: native, bf16, fp8, int4.")
    kv_precision: Names = Field(default=[], description="Of the KV cache: bf16, fp8.")
    engine: Names = Field(default=[], examples=[["vllm"]])
    budget: Budget | None = None
    top: int = Field(default=10, ge=1, le=MOST_ROWS, description="How many rows.")

    def traffic(self) -> Traffic:
        """Return the load as stated."""
        a_day = self.tokens_per_day
        return Traffic(
            input_tokens=self.input,
            output_tokens=self.output,
            rate=self.rate,
            users=self.users,
            tokens_per_day=None if a_day is None else float(a_day),
            peak_factor=self.peak_factor,
            batch=self.batch,
            context_tokens=self.context,
        )

    def wishes(self) -> Wishes:
        """Return what was added to the question.

        Raises:
            UnknownGpuError, UnknownPrecisionError, UnknownEngineError: with the nearest names.
            InvalidQuantityError: a use that is out of range.
        """
        stated = stated_wishes(
            gpus=self.gpu,
            precisions=tuple(self.precision),
            kv_precisions=self.kv_precision,
            engine_names=self.engine,
            budget=self.budget,
            top=self.top,
        )
        use = stated_use(
            hours_per_day=self.hours_per_day,
            days=self.days,
            starts=self.starts,
            data_out=self.data_out,
            disk=self.disk,
            download_rate=self.download_rate,
            discount=self.discount,
            vat=self.vat,
        )
        return replace(stated, use=use)
