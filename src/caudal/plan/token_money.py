"""From tokens to money: GPU-hours, and dollars a million input and output tokens apart.

A replica's time is spent on prompts (prefill) and on answers (decode). The bill is divided by
that share of time, then each part by its tokens: an input token is as cheap as its prefill.
"""

from dataclasses import dataclass

from caudal.plan.candidate import Candidate
from caudal.plan.operation import point_of
from caudal.traffic.workload import Workload
from caudal.vocabulary.errors import ContradictoryOptionsError
from caudal.vocabulary.units import SECONDS_PER_DAY, SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What one day asks of the deployment, and what the deployment could do."""

    requests: float
    input_tokens: float
    output_tokens: float
    requests_per_gpu_hour: float  # of a replica as full as the SLO and `utilisation` allow
    gpu_hours_worked: float  # requests / requests_per_gpu_hour
    gpu_hours_rented: float  # of all GPUs that serve, for the hours they run
    prefill_share: float  # of the time of a replica at work

    @property
    def utilisation(self) -> float:
        """Return the part of the rented GPU-hours that is worked."""
        return self.gpu_hours_worked / self.gpu_hours_rented


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """Dollars per million tokens; both together weigh the two by their amounts."""

    input_usd_per_million: float
    output_usd_per_million: float
    usd_per_million: float


def day_of(
    candidate: Candidate,
    workload: Workload,
    *,
    utilisation: float,
    hours_per_day: float,
    gpu_hours_rented: float,
) -> Day:
    """Return a day's tokens and GPU-hours.

    `gpu_hours = requests / (3600 · largest rate · utilisation) · GPUs of a replica`. A rate lasts
    for the hours that are served; a daily amount is a day's, however short the hours. With users
    who always wait for an answer, a day's requests are what the deployment then answers.

    Raises:
        ContradictoryOptionsError: batch work without an amount has no day.
    """
    if workload.rate is None and workload.users is None:
        raise ContradictoryOptionsError(
            "A budget needs an amount of work.",
            remedy="Give --tokens-per-day 50M, --input-per-day and --output-per-day, or --rate.",
        )
    served_s = hours_per_day * SECONDS_PER_HOUR
    if workload.users is not None:
        point = point_of(candidate, workload)
        requests = point.request_rate * candidate.replicas * served_s
    elif workload.mean_rate is not None:
        requests = workload.mean_rate * SECONDS_PER_DAY
    else:
        assert workload.rate is not None, "a load without users states a rate"
        requests = workload.rate * served_s
    gpus = candidate.shape.serving.layout.gpus
    per_gpu_hour = candidate.largest_rate * utilisation * SECONDS_PER_HOUR / gpus
    return Day(
        requests=requests,
        input_tokens=requests * workload.input_tokens,
        output_tokens=requests * workload.output_tokens,
        requests_per_gpu_hour=per_gpu_hour,
        gpu_hours_worked=requests / per_gpu_hour,
        gpu_hours_rented=gpu_hours_rented,
        prefill_share=prefill_share(candidate),
    )


def prefill_share(candidate: Candidate) -> float:
    """Return the part of a full replica's time that prompts take: rate · seconds a prompt."""
    largest = candidate.batch
    curve = candidate.curve
    at = int(abs(curve.batches - largest).argmin())
    return float(min(1.0, candidate.largest_rate * float(curve.prefill_s[at])))


def token_prices(usd_per_day: float, day: Day) -> TokenPrices:
    """Return what a million tokens cost if a day costs `usd_per_day`."""
    return TokenPrices(
        input_usd_per_million=usd_per_day * day.prefill_share / day.input_tokens * 1e6,
        output_usd_per_million=usd_per_day * (1 - day.prefill_share) / day.output_tokens * 1e6,
        usd_per_million=usd_per_day / (day.input_tokens + day.output_tokens) * 1e6,
    )
