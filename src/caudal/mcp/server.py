"""The MCP server: fit, plan, offers and budget as tools, over the protocol's official SDK."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Annotated, Final, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from caudal import __version__
from caudal.documents.budget import BudgetAsked, answer_budget
from caudal.documents.clock import today
from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.documents.offers import find_offers, offer_query
from caudal.documents.plan import PlanAsked, answer_plan, stated_objectives, stated_wishes
from caudal.documents.served_models import ServedModels
from caudal.documents.use import parse_number, stated_use
from caudal.documents.values import Json
from caudal.documents.written import parse_monthly_budget
from caudal.mcp.digest import budget_digest, fit_digest, offers_digest, plan_digest
from caudal.offers.known import known_offers
from caudal.plan.question import Traffic
from caudal.traffic.slo import Objective
from caudal.vocabulary.errors import CaudalError
from caudal.vocabulary.quantities import (
    parse_bytes,
    parse_count,
    parse_duration,
    parse_rate,
    parse_tokens,
    parse_usd_per_hour,
)

INSTRUCTIONS: Final = (
    "Caudal says which GPU a language model needs, how fast it serves, and what it costs to rent. "
    "Quantities are text as people write it: lengths 8192 or 8k, times 500ms, rates 5/s, 50M/day, "
    "prices $2.50/h. Figures are estimates with a range (80 %) and a basis; prices have an age: "
    "pass both on. An answer with `error` says why nothing meets the question and what would."
)
READS_ONLY: Final = ToolAnnotations(
    read_only_hint=True, idempotent_hint=True, destructive_hint=False, open_world_hint=False
)
Model = Annotated[str, Field(description="Short name or hub id: llama-3.1-70b, Qwen/Qwen3-32B.")]
Gpus = Annotated[list[str] | None, Field(description="H100, H100:2, H100:1..8; default: all.")]
Precision = Annotated[str | None, Field(description="native, bf16, fp8, int4 …")]
Regions = Annotated[list[str] | None, Field(description="us, eu, asia, a country, a region.")]
Terms = Annotated[list[str] | None, Field(description="on_demand, spot, monthly …")]
Parsed = TypeVar("Parsed")
Text = Annotated[str | None, Field(max_length=200)]


class Tools:
    """What the tools need: the models that may be named, and the day."""

    def __init__(self, *, allow_local: bool, clock: Callable[[], date] = today) -> None:
        self._models = ServedModels(allow_local=allow_local)
        self._clock = clock

    def fit(
        self,
        *,
        model: Model,
        gpu: Gpus = None,
        precision: Precision = None,
        kv_precision: Precision = None,
        context: Text = None,
        concurrency: Annotated[int, Field(ge=1, le=1_000_000)] = 1,
        engine: Text = None,
    ) -> dict[str, Json]:
        """Say whether a model fits on each GPU, how the memory is used, and what would help.

        It fits only if `concurrency` requests of `context` tokens (default 8k) do at once.
        """
        with _told():
            asked = FitAsked(
                model=self._models.named(model),
                gpus=tuple(gpu or ()),
                precision=precision or "native",
                kv_precision=kv_precision,
                context=None if context is None else parse_tokens(context, name="context"),
                concurrency=concurrency,
                engine=engine,
            )
            return fit_digest(answer_fit_question(asked))

    def plan(
        self,
        *,
        model: Model,
        rate: Annotated[str | None, Field(description="Requests: 5/s, 300/min.")] = None,
        users: Annotated[int | None, Field(ge=1, description="Users waiting at once.")] = None,
        tokens_per_day: Annotated[str | None, Field(description="In and out: 50M.")] = None,
        input_tokens: Annotated[str | None, Field(description="A request's mean: 2k.")] = None,
        output_tokens: Annotated[str | None, Field(description="A request's mean: 300.")] = None,
        batch: Annotated[bool, Field(description="All may queue.")] = False,
        ttft_p95: Annotated[str | None, Field(description="Time to first token: 1s.")] = None,
        tpot_p95: Annotated[str | None, Field(description="Time per token: 50ms.")] = None,
        gpu: Gpus = None,
        precision: Precision = None,
        region: Regions = None,
        term: Terms = None,
        budget: Annotated[str | None, Field(description="Dollars a month: $5,000.")] = None,
        top: Annotated[int, Field(ge=1, le=20)] = 5,
    ) -> dict[str, Json]:
        """Rank the cheapest ways to rent GPUs that serve a model within latency bounds.

        State the load in one way: rate, users, tokens_per_day or batch.
        """
        day = self._clock()
        with _told():
            asked = PlanAsked(
                model=self._models.named(model),
                traffic=Traffic(
                    input_tokens=_read(parse_tokens, input_tokens, "input_tokens"),
                    output_tokens=_read(parse_tokens, output_tokens, "output_tokens"),
                    rate=_read(parse_rate, rate, "rate"),
                    users=users,
                    tokens_per_day=_read(parse_count, tokens_per_day, "tokens_per_day"),
                    batch=batch,
                ),
                objectives=_objectives(ttft_p95=ttft_p95, tpot_p95=tpot_p95),
                wishes=stated_wishes(
                    gpus=gpu or (),
                    precisions=() if precision is None else (precision,),
                    budget=None if budget is None else parse_monthly_budget(budget),
                    top=top,
                ),
                query=offer_query(regions=tuple(region or ()), terms=tuple(term or ())),
            )
            return plan_digest(answer_plan(asked, book=known_offers(today=day), today=day))

    def budget(
        self,
        *,
        model: Model,
        rate: Annotated[str | None, Field(description="Requests: 5/s, 300/min.")] = None,
        tokens_per_day: Annotated[str | None, Field(description="In and out: 50M.")] = None,
        input_tokens: Annotated[str | None, Field(description="A request's mean: 2k.")] = None,
        output_tokens: Annotated[str | None, Field(description="A request's mean: 300.")] = None,
        ttft_p95: Annotated[str | None, Field(description="Time to first token: 1s.")] = None,
        tpot_p95: Annotated[str | None, Field(description="Time per token: 50ms.")] = None,
        gpu: Gpus = None,
        precision: Precision = None,
        region: Regions = None,
        term: Terms = None,
        hours_per_day: Annotated[str | None, Field(description="That it serves: 10.")] = None,
        days: Annotated[str | None, Field(description="It is needed for: 7.")] = None,
        data_out: Annotated[str | None, Field(description="In that time: 500GB.")] = None,
    ) -> dict[str, Json]:
        """Turn a model and its traffic into money: the bill, break-evens, and when not to rent.

        State the load in one way: rate or tokens_per_day.
        """
        day = self._clock()
        with _told():
            stated = stated_wishes(
                gpus=gpu or (), precisions=() if precision is None else (precision,)
            )
            use = stated_use(
                hours_per_day=_read(parse_number, hours_per_day),
                days=_read(parse_number, days),
                data_out=_read(parse_bytes, data_out, "data_out"),
            )
            asked = BudgetAsked(
                model=self._models.named(model),
                traffic=Traffic(
                    input_tokens=_read(parse_tokens, input_tokens, "input_tokens"),
                    output_tokens=_read(parse_tokens, output_tokens, "output_tokens"),
                    rate=_read(parse_rate, rate, "rate"),
                    tokens_per_day=_read(parse_count, tokens_per_day, "tokens_per_day"),
                ),
                objectives=_objectives(ttft_p95=ttft_p95, tpot_p95=tpot_p95),
                wishes=replace(stated, use=use),
                query=offer_query(regions=tuple(region or ()), terms=tuple(term or ())),
            )
            _, document = answer_budget(asked, book=known_offers(today=day), today=day)
            return budget_digest(document)

    def offers(
        self,
        *,
        gpu: Gpus = None,
        region: Regions = None,
        provider: Annotated[list[str] | None, Field(description="Only from these.")] = None,
        term: Terms = None,
        max_gpu_price: Annotated[str | None, Field(description="A GPU-hour: $2.50.")] = None,
        top: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> dict[str, Json]:
        """List what can be rented, cheapest per GPU-hour first, with the age of each price."""
        with _told():
            query = offer_query(
                regions=tuple(region or ()),
                providers=tuple(provider or ()),
                terms=tuple(term or ()),
                max_gpu_price=_read(parse_usd_per_hour, max_gpu_price, "max_gpu_price"),
            )
            book = known_offers(today=self._clock())
            return offers_digest(find_offers(gpu or (), query, book=book, top=top))


def create_server(*, allow_local: bool = False, clock: Callable[[], date] = today) -> MCPServer:
    """Return the server; `run()` speaks over standard input and output."""
    server = MCPServer("caudal", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    tools = Tools(allow_local=allow_local, clock=clock)
    for tool in (tools.fit, tools.plan, tools.offers, tools.budget):
        server.tool(annotations=READS_ONLY)(tool)
    return server


@contextmanager
def _told() -> Iterator[None]:
    """Tell an error of ours to the model that asked: the problem, the remedy and the code."""
    try:
        yield
    except CaudalError as error:
        raise ToolError(f"{error.problem} {error.remedy} [{error.code}]") from None


def _objectives(*, ttft_p95: str | None, tpot_p95: str | None) -> tuple[Objective, ...]:
    bounds = {
        "ttft_p95": _read(parse_duration, ttft_p95, "ttft_p95"),
        "tpot_p95": _read(parse_duration, tpot_p95, "tpot_p95"),
    }
    return stated_objectives(bounds)


def _read(parse: Callable[..., Parsed], text: str | None, name: str = "") -> Parsed | None:
    """Return what was written; `name` opens the message of the vocabulary's own parsers."""
    if text is None:
        return None
    return parse(text, name=name) if name else parse(text)
