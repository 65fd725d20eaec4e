import numpy as np
import pytest

from caudal.traffic.trace import InvalidTraceError, read_trace, trace_requests

AZURE = [
    "TIMESTAMP,ContextTokens,GeneratedTokens\n",
    "2023-11-16 18:15:46.6805900,374,44\n",
    "2023-11-16 18:15:50.9951690,396,109\n",
]
BURSTGPT = [
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
    "5,ChatGPT,472,18,490,Conversation log\n",
    "45,ChatGPT,1087,230,1317,Conversation log\n",
    "118,GPT-4,417,0,417,Conversation log\n",
]
MOONCAKE = [
    '{"timestamp": 0, "input_length": 1200, "output_length": 52, "hash_ids": [0, 1, 2]}\n',
    '{"timestamp": 3000, "input_length": 1100, "output_length": 20, "hash_ids": [0, 1, 9]}\n',
]
TABLE = ["arrival,input,output\n", "0.5,10,20\n", "0.25,30,40\n"]


@pytest.mark.parametrize(
    ("lines", "arrivals", "prompts", "outputs"),
    [
        (AZURE, [0.0, 4.314579], [374, 396], [44, 109]),
        (BURSTGPT, [0.0, 40.0], [472, 1087], [18, 230]),
        (MOONCAKE, [0.0, 3.0], [1200, 1100], [52, 20]),
        (TABLE, [0.0, 0.25], [30, 10], [40, 20]),
    ],
    ids=["Azure", "BurstGPT", "Mooncake", "table"],
)
def test_each_published_form_is_read(
    lines: list[str], arrivals: list[float], prompts: list[int], outputs: list[int]
) -> None:
    trace = read_trace(lines, name="trace")

    assert arrivals == pytest.approx(trace.arrival_s.tolist())
    assert prompts == trace.prompt.tolist()
    assert outputs == trace.output.tolist()


def test_rows_without_an_answer_are_counted_not_read() -> None:
    assert read_trace(BURSTGPT, name="trace").skipped == 1


def test_a_date_keeps_its_zone() -> None:
    lines = [AZURE[0], "2024-05-10 00:00:00.009930+00:00,1,2\n", "2024-05-10T01:00:01+01:00,3,4\n"]

    trace = read_trace(lines, name="trace")

    assert trace.arrival_s.tolist() == pytest.approx([0.0, 0.99007])


def test_hashed_blocks_are_what_prompts_share() -> None:
    table = trace_requests(read_trace(MOONCAKE, name="trace"), 10)

    assert table.prefixes is not None
    assert table.prefixes.first.tolist() == [0, 2, 4]  # the last block is not whole
    assert table.prefixes.node.tolist() == [0, 1, 0, 1]
    assert table.prefixes.node_end.tolist() == [512, 1024, 512, 1024]
    assert table.root is not None
    assert table.root.tolist() == [0, 0]


def test_a_trace_can_be_played_faster() -> None:
    table = trace_requests(read_trace(AZURE, name="trace"), 2, speed=2.0)

    assert (table.arrival * 1e-12).tolist() == pytest.approx([0.0, 4.314579 / 2])


def test_the_rate_is_that_between_the_first_and_the_last() -> None:
    trace = read_trace(TABLE, name="trace")

    assert trace.rate == pytest.approx(4.0)
    assert trace.mean_tokens == (20.0, 30.0)


def test_only_so_many_rows_are_read() -> None:
    assert len(read_trace(AZURE, name="trace", most=1).prompt) == 1


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the file is empty"),
        (["a,b\n", "1,2\n"], "no known form"),
        ([TABLE[0]], "no request with a prompt and an answer"),
        ([TABLE[0], "1,2\n"], "output is no number"),
        ([TABLE[0], "soon,1,2\n"], "no time"),
        ([TABLE[0], "1,-1,2\n"], "no count of tokens"),
        ([TABLE[0], "1,1.5,2\n"], "no count of tokens"),
        ([TABLE[0], "1,1e99,2\n"], "no count of tokens"),
        ([TABLE[0], "1,nan,2\n"], "no number"),
        ([MOONCAKE[0], "{\n"], "no JSON"),
        ([MOONCAKE[0], "[1]\n"], "no JSON object"),
        (['{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": 3}'], "hash_ids"),
        (['{"timestamp": true, "input_length": 1, "output_length": 1}'], "timestamp"),
        ([TABLE[0], "x" * 4_000_001], "more than 4,000,000 characters"),
    ],
    ids=range(14),
)
def test_what_cannot_be_read_names_file_and_line(lines: list[str], said: str) -> None:
    with pytest.raises(InvalidTraceError) as refused:
        read_trace(lines, name="mine.csv")

    assert refused.value.problem.startswith("mine.csv, line ")
    assert said in refused.value.problem


def test_requests_are_in_the_order_of_their_arrival() -> None:
    assert np.all(np.diff(read_trace(TABLE, name="trace").arrival_s) >= 0)
