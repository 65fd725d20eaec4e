"""The MCP server as an assistant starts it: a process that speaks over its standard streams."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from documents import TODAY

CAUDAL = Path(sys.executable).parent / "caudal"
LOAD: dict[str, object] = {"model": "llama-3.1-8b", "rate": "1/s", "gpu": ["L4"], "ttft_p95": "2s"}
CALLS: Mapping[str, tuple[str, dict[str, object]]] = {
    "fit": ("fit", {"model": "llama-3.1-70b", "gpu": ["H100:1..2"], "precision": "fp8"}),
    "nothing fits": ("fit", {"model": "llama-3.1-70b", "gpu": ["L4:1"]}),
    "plan": ("plan", LOAD),
    "offers": ("offers", {"gpu": ["H100:8"], "region": ["us"], "top": 3}),
    "budget": ("budget", {"model": "llama-3.1-8b", "tokens_per_day": "20M", "gpu": ["L4"]}),
    "unknown model": ("fit", {"model": "lama-3.1"}),
    "a path": ("fit", {"model": "/etc/passwd"}),
    "wrong unit": ("plan", LOAD | {"ttft_p95": "80GB"}),
}


async def asked() -> tuple[list[str], dict[str, CallToolResult]]:
    server = StdioServerParameters(
        command=str(CAUDAL), args=["mcp"], env={"SOURCE_DATE_EPOCH": TODAY}
    )
    async with Client(server) as client:
        tools = await client.list_tools()
        answers = {name: await client.call_tool(*call) for name, call in CALLS.items()}
        return [tool.name for tool in tools.tools], answers


@pytest.fixture(scope="module")
def session() -> tuple[list[str], dict[str, CallToolResult]]:
    return anyio.run(asked)


Session = tuple[list[str], dict[str, CallToolResult]]


def text_of(answer: CallToolResult) -> str:
    content = answer.content[0]
    assert isinstance(content, TextContent)
    return content.text


def test_the_tools_are_named_as_the_commands(session: Session) -> None:
    assert {"fit", "plan", "offers", "budget"} == set(session[0])


def test_fit_says_where_the_memory_goes(session: Session) -> None:
    answer = json.loads(text_of(session[1]["fit"]))

    assert answer["smallest_that_fits"]["verdict"] == "fits"
    assert 50 < sum(answer["rows"][0]["needs_gib"].values()) < 80
    assert answer["error"] is None


def test_what_does_not_fit_says_why(session: Session) -> None:
    answer = json.loads(text_of(session[1]["nothing fits"]))

    assert answer["smallest_that_fits"] is None
    assert answer["error"]["code"] == "does-not-fit"


def test_a_plan_has_prices_with_their_age_and_latencies_with_their_range(session: Session) -> None:
    row = json.loads(text_of(session[1]["plan"]))["rows"][0]

    assert row["gpu"] == "l4"
    assert float(row["usd_per_month"]) > 0
    assert row["price_age_days"] >= 0
    assert {"value", "low", "high", "basis"} == set(row["latencies_s"]["TTFT p95"])


def test_a_budget_says_what_it_costs_and_what_moves_it(session: Session) -> None:
    budget = json.loads(text_of(session[1]["budget"]))

    assert float(budget["usd_per_month"]) > 100
    assert budget["what_moves_it"]
    assert budget["break_evens"]


def test_offers_are_the_cheapest_first(session: Session) -> None:
    offers = json.loads(text_of(session[1]["offers"]))["offers"]

    prices = [float(offer["usd_per_gpu_hour"]) for offer in offers]
    assert len(prices) == 3
    assert sorted(prices) == prices


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("[unknown-model]", "unknown model"),
        ("[unknown-model]", "a path"),
        ("[invalid-quantity]", "wrong unit"),
    ],
)
def test_an_error_tells_the_assistant_what_to_do(session: Session, said: str, call: str) -> None:
    answer = session[1][call]

    assert answer.is_error
    assert said in text_of(answer)


def test_answers_are_short_enough_for_a_context(session: Session) -> None:
    assert all(len(text_of(answer)) < 20_000 for answer in session[1].values())
