"""From what a user gave to one complete question, with every assumption written down."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import isfinite

from caudal.facts.engine import EngineSpec
from caudal.facts.gpu import GpuSpec
from caudal.facts.model import ModelSpec
from caudal.facts.precisions import weight_format
from caudal.fit.speculation import Speculation
from caudal.offers.offer import Term
from caudal.offers.query import OfferQuery
from caudal.plan.use import Use
from caudal.traffic.slo import Metric, Objective, Slo
from caudal.traffic.workload import Mode, Workload
from caudal.vocabulary.errors import ContradictoryOptionsError, InvalidQuantityError
from caudal.vocabulary.units import GB, SECONDS_PER_DAY, Bytes, RequestsPerSecond, Seconds, Tokens

# Mean lengths of the conversation trace that Azure published with Splitwise
# (arXiv:2311.18677, AzureLLMInferenceTrace_conv 2023: 1,155 tokens in, 211 out).
TYPICAL_INPUT_TOKENS = Tokens(1155)
TYPICAL_OUTPUT_TOKENS = Tokens(211)
# MLPerf Inference v5.0, Llama-2-70B Server: TTFT 2 s and TPOT 200 ms at p99.
MLPERF_SERVER_SLO = Slo(
    (
        Objective(Metric.TTFT, 0.99, Seconds(2.0)),
        Objective(Metric.TPOT, 0.99, Seconds(0.2)),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuWish:
    """GPUs to consider, and how many of them in one replica (None: any number)."""

    specs: tuple[GpuSpec, ...]
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The load as the user stated it; None is "not said"."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    rate: RequestsPerSecond | None = None
    users: int | None = None
    tokens_per_day: float | None = None
    batch: bool = False
    context_tokens: Tokens | None = None
    peak_factor: float | None = None  # busiest hour against the day's mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that decides an answer."""

    model: ModelSpec
    workload: Workload
    slo: Slo
    gpus: tuple[GpuWish, ...]
    weight_formats: tuple[str, ...]  # empty: the usual ones
    kv_formats: tuple[str, ...]  # empty: the usual ones
    engines: tuple[EngineSpec, ...]
    offers: OfferQuery
    budget_usd_per_month: Decimal | None = None  # or for the days of `use`
    top: int = 10
    use: Use = field(default_factory=Use)
    speculation: Speculation | None = None
    rates: Mapping[str, Decimal] = field(default_factory=dict)  # dollars a unit, the user's own
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def workload_of(traffic: Traffic, model: ModelSpec) -> Workload:
    """Return the complete workload, with what was assumed to complete it.

    Raises:
        ContradictoryOptionsError: two loads, or none, or a factor without a daily mean.
        InvalidQuantityError: a request longer than the model's context, a load of zero.
    """
    _check_loads(traffic)
    input_tokens, output_tokens, assumptions = _lengths(traffic)
    mode = Mode.BATCH if traffic.batch else Mode.CLOSED if traffic.users else Mode.OPEN
    rate, mean_rate = traffic.rate, None
    if traffic.tokens_per_day is not None:
        peak = traffic.peak_factor or 1.0
        mean = traffic.tokens_per_day / (input_tokens + output_tokens) / SECONDS_PER_DAY
        mean_rate = RequestsPerSecond(mean)
        rate = RequestsPerSecond(mean * peak)
        assumptions.append(_daily_note(traffic, rate, peak))
    if traffic.users is not None:
        assumptions.append(
            f"all {traffic.users} users wait for an answer at the same time (no think time)"
        )
    workload = Workload(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        mode=mode,
        rate=rate,
        mean_rate=mean_rate,
        users=traffic.users,
        context_tokens=traffic.context_tokens,
        assumptions=tuple(assumptions),
    )
    if workload.longest_tokens > model.max_context_tokens:
        raise InvalidQuantityError(
            f"One sequence of {workload.longest_tokens:,} tokens is longer than the "
            f"{model.max_context_tokens:,} that {model.id} was made for.",
            remedy="Ask for a shorter context, input or output, or for another model.",
        )
    return workload


def within_hours(workload: Workload, use: Use) -> Workload:
    """Return the load with a day's amount carried in the hours that are served."""
    if workload.mean_rate is None or workload.rate is None or not use.rests:
        return workload
    rate = RequestsPerSecond(workload.rate * 24 / float(use.hours_per_day))
    said = f"a day's tokens come within {use.hours_per_day:f} hours: {rate:.3g} requests/s"
    return replace(workload, rate=rate, assumptions=(*workload.assumptions, said))


def with_download(use: Use, model: ModelSpec) -> tuple[Use, str | None]:
    """Return the use with the model fetched at each start, and the sentence that says so.

    A machine that never rests starts once, within its time, and fetches nothing that is billed.
    """
    if not use.rests or use.download_bytes:
        return use, None
    native = weight_format(model.checkpoint.weight_format)
    size = model.checkpoint_bytes or Bytes(round(model.total_parameters * native.bytes_per_weight))
    return replace(use, download_bytes=size), (
        f"each start fetches the checkpoint, {size / GB:,.0f} GB (--download-rate)"
    )


def slo_of(objectives: tuple[Objective, ...], workload: Workload) -> tuple[Slo, str | None]:
    """Return the objectives to meet and, where none were given, the sentence that says so.

    Raises:
        ContradictoryOptionsError: a latency bound on work that waits in a queue by design.
        InvalidQuantityError: a bound of zero or less.
    """
    for objective in objectives:
        if not (isfinite(objective.at_most_s) and objective.at_most_s > 0):
            raise InvalidQuantityError(
                f"{objective.label} must be above zero, not {objective.at_most_s} s.",
                remedy="Give a duration such as 500ms or 1.5s.",
            )
    if workload.mode is Mode.BATCH:
        if objectives:
            raise ContradictoryOptionsError(
                "--batch asks for throughput alone, so a latency bound cannot be kept.",
                remedy="Leave out --batch, or the latency bounds.",
            )
        return Slo(), "batch work: no latency bound, all requests may wait in the queue"
    if objectives:
        return Slo(tuple(sorted(objectives))), None
    return MLPERF_SERVER_SLO, (
        "no latency bound was given: TTFT p99 ≤ 2 s and TPOT p99 ≤ 200 ms, "
        "MLPerf's bounds for Llama-2-70B servers"
    )


def _check_loads(traffic: Traffic) -> None:
    given = [
        name
        for name, value in (
            ("--rate", traffic.rate),
            ("--users", traffic.users),
            ("--tokens-per-day", traffic.tokens_per_day),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise ContradictoryOptionsError(
            f"{' and '.join(given)} each state the whole load.", remedy="Keep one of them."
        )
    if not given and not traffic.batch:
        raise ContradictoryOptionsError(
            "Nothing says how much traffic there is.",
            remedy="Give --rate 5/s, --users 40, --tokens-per-day 50M, or --batch.",
        )
    if traffic.batch and given == ["--users"]:
        raise ContradictoryOptionsError(
            "--batch has no users waiting.",
            remedy="Give --tokens-per-day or --rate with --batch, or leave out --batch.",
        )
    if traffic.peak_factor is not None and (traffic.tokens_per_day is None or traffic.batch):
        raise ContradictoryOptionsError(
            "--peak-factor scales the day's mean of live traffic.",
            remedy="Use it with --tokens-per-day and without --batch.",
        )
    for name, value in (
        ("--rate", traffic.rate),
        ("--users", traffic.users),
        ("--tokens-per-day", traffic.tokens_per_day),
        ("--input", traffic.input_tokens),
        ("--output", traffic.output_tokens),
        ("--context", traffic.context_tokens),
        ("--peak-factor", traffic.peak_factor),
    ):
        if value is not None and not (isfinite(value) and value > 0):
            raise InvalidQuantityError(
                f"{name} must be above zero, not {value}.", remedy="Give a positive amount."
            )


def _lengths(traffic: Traffic) -> tuple[Tokens, Tokens, list[str]]:
    """Return mean input and output tokens; what was not said is taken from a public trace."""
    source = "mean of the Azure conversation trace of 2023"
    assumptions: list[str] = []
    context = traffic.context_tokens
    if traffic.output_tokens is not None:
        output_tokens = traffic.output_tokens
    else:
        output_tokens = TYPICAL_OUTPUT_TOKENS
        if context is not None:
            output_tokens = Tokens(max(1, min(output_tokens, context // 4)))
        assumptions.append(f"{output_tokens:,} output tokens a request ({source})")
    if traffic.input_tokens is not None:
        input_tokens = traffic.input_tokens
    elif context is not None:
        input_tokens = Tokens(max(1, context - output_tokens))
        assumptions.append(
            f"{input_tokens:,} input tokens a request: every request fills the context asked for"
        )
    else:
        input_tokens = TYPICAL_INPUT_TOKENS
        assumptions.append(f"{input_tokens:,} input tokens a request ({source})")
    if context is not None and input_tokens + output_tokens > context:
        raise ContradictoryOptionsError(
            f"{input_tokens:,} tokens in and {output_tokens:,} out make "
            f"{input_tokens + output_tokens:,}, more than the context of {context:,}.",
            remedy="Raise --context, or lower --input or --output.",
        )
    return input_tokens, output_tokens, assumptions


def _daily_note(traffic: Traffic, rate: float, peak: float) -> str:
    per_day = f"{traffic.tokens_per_day:,.0f} tokens a day, input and output together"
    if traffic.batch:
        return f"{per_day}, spread over 24 hours: {rate:.3g} requests/s"
    if traffic.peak_factor is None:
        return (
            f"{per_day}, spread evenly: {rate:.3g} requests/s "
            "(--peak-factor 3 plans for a busy hour of three times the mean)"
        )
    return f"{per_day}, in the busy hour {peak:g} times the mean: {rate:.3g} requests/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a user may add to a question; empty and None mean "not said"."""

    gpus: tuple[GpuWish, ...] = ()
    precisions: tuple[str, ...] = ()  # "native" is the checkpoint's own
    kv_precisions: tuple[str, ...] = ()
    engines: tuple[EngineSpec, ...] = ()
    offers: OfferQuery = field(default_factory=OfferQuery)
    budget_usd_per_month: Decimal | None = None  # or for the days of `use`
    top: int = 10
    use: Use = field(default_factory=Use)
    speculation: Speculation | None = None
    rates: Mapping[str, Decimal] = field(default_factory=dict)  # dollars a unit, the user's own
    notes: tuple[str, ...] = ()


def build_question(
    model: ModelSpec,
    traffic: Traffic,
    objectives: tuple[Objective, ...],
    wishes: Wishes,
    *,
    all_gpus: tuple[GpuSpec, ...],
    usual_engine: EngineSpec,
) -> Question:
    """Return the complete question; what was not said is filled in and written down.

    Raises:
        ContradictoryOptionsError, InvalidQuantityError: see `workload_of` and `slo_of`.
        UnknownPrecisionError: a precision that no one knows.
    """
    if wishes.budget_usd_per_month is not None and wishes.budget_usd_per_month <= 0:
        raise InvalidQuantityError(
            f"A budget of ${wishes.budget_usd_per_month} buys nothing.",
            remedy="Give the dollars a month that may be spent.",
        )
    use, use_note = with_download(wishes.use, model)
    workload = within_hours(workload_of(traffic, model), use)
    slo, slo_note = slo_of(objectives, workload)
    native = model.checkpoint.weight_format
    assumptions = [note for note in (slo_note, use_note) if note]
    if not wishes.engines:
        assumptions.append(f"served by {usual_engine.title} with its default settings")
    terms, terms_note = _terms(wishes.offers, workload)
    if terms_note:
        assumptions.append(terms_note)
    if not wishes.kv_precisions:
        assumptions.append("KV cache in 16 or 8 bit, whichever serves for less")
    if wishes.speculation is not None:
        assumptions.append(speculation_note(wishes.speculation, model))
    if workload.mode is not Mode.BATCH:
        assumptions.append("requests arrive at random (Poisson) with varied prompt lengths")
    return Question(
        model=model,
        workload=workload,
        slo=slo,
        gpus=wishes.gpus or (GpuWish(specs=all_gpus),),
        weight_formats=tuple(
            dict.fromkeys(
                weight_format(native if name == "native" else name).name
                for name in wishes.precisions
            )
        ),
        kv_formats=wishes.kv_precisions,
        engines=wishes.engines or (usual_engine,),
        offers=replace(
            wishes.offers, terms=terms, fractions=False, opening_later=False, in_stock_only=True
        ),
        budget_usd_per_month=wishes.budget_usd_per_month,
        top=wishes.top,
        use=use,
        speculation=wishes.speculation,
        rates=wishes.rates,
        assumptions=tuple(assumptions),
        notes=wishes.notes,
    )


def speculation_note(speculation: Speculation, model: ModelSpec) -> str:
    """Return the sentence that says what drafting is taken to cost and to bring."""
    loaded = (
        "the checkpoint's own prediction layers are loaded"
        if model.mtp_parameters
        else "memory of a draft model is not counted"
    )
    return (
        f"speculative decoding: {speculation.draft_tokens} tokens drafted a step, each kept with "
        f"{speculation.acceptance:.0%} chance after those before it, so "
        f"{speculation.tokens_per_step:.3g} tokens a step (arXiv:2211.17192); drafting one takes "
        f"{speculation.draft_share:.0%} of a step; {loaded}"
    )


def _terms(offers: OfferQuery, workload: Workload) -> tuple[frozenset[Term] | None, str]:
    """Return the terms to look at: spot only for work that can wait, unless it was asked for."""
    if offers.terms is not None:
        return offers.terms, ""
    if workload.mode is Mode.BATCH:
        return None, "spot offers count too: batch work can wait for a lost instance"
    live = frozenset(term for term in Term if term is not Term.SPOT)
    return live, "no spot offers, which may be taken away under live traffic (--term spot)"
