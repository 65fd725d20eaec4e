"""Questions of fit as they are put at a door: joined cards, slices, what stays on the host."""

import pytest

from caudal.documents.fit import FitAnswer, FitAsked, answer_fit_question, split_machine
from caudal.facts.models import resolve_model
from caudal.fit.budget import Verdict
from caudal.fit.placement import Offload
from caudal.fit.serving import Knobs
from caudal.vocabulary.errors import ContradictoryOptionsError, InvalidLayoutError
from caudal.vocabulary.units import GIB, Bytes, Tokens


def ask(model: str, *gpus: str, **options: object) -> FitAnswer:
    return answer_fit_question(
        FitAsked(model=resolve_model(model), gpus=gpus, **options)  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("RTX 3090 + RTX 4080", ("RTX 3090", "RTX 4080")),
        ("rtx-3090+rtx-4080", ("rtx-3090", "rtx-4080")),
        ("RTX 3090,RTX 4080", ("RTX 3090", "RTX 4080")),
        ("3090,4080", ("3090", "4080")),
        ("2x RTX 3090 + RTX 4080", ("2x RTX 3090", "RTX 4080")),
        ("RTX 3090, 2x 4080", ("RTX 3090", "2x 4080")),
        ("H100:1,2,4", ("H100:1,2,4",)),
        ("A100/1g.10gb+me", ("A100/1g.10gb+me",)),
        ("H100", ("H100",)),
    ],
)
def test_cards_of_one_machine_are_joined_by_a_plus_or_a_comma(
    text: str, parts: tuple[str, ...]
) -> None:
    assert parts == split_machine(text)


def test_a_machine_is_one_row() -> None:
    (row,) = ask("llama-3.1-8b", "2x RTX 3090 + RTX 4080", engine="llama.cpp").report.rows

    assert ("rtx-3090", "rtx-3090", "rtx-4080") == row.cards
    assert "rtx-3090 + rtx-3090 + rtx-4080" == row.label
    assert row.placement is not None
    assert [13, 12, 7] == [card.layers for card in row.placement.cards]


def test_a_tensor_group_takes_the_smallest_card_of_each() -> None:
    # vllm-project/vllm#2317: a 7B in FP16 over 24 and 8 GB runs out of memory on the smaller card
    (joined,) = ask("mistral-7b", "RTX 3090 + RTX 3070", precision="fp16").report.rows
    alone = ask("mistral-7b", "RTX 3090:1", precision="fp16").report.rows[0]

    assert Verdict.FITS is not joined.verdict
    assert Verdict.FITS is alone.verdict
    assert any("stay unused" in note for note in joined.notes)


def test_a_tensor_group_over_slots_is_told_of_its_link() -> None:
    rows = ask("llama-3.1-70b", "L40S:4").report.rows

    assert any("PCIe" in note for note in rows[0].notes)
    assert not ask("llama-3.1-70b", "H100 SXM:4").report.rows[0].notes


def test_slices_serve_alone() -> None:
    (one,) = ask("llama-3.1-8b", "A100 SXM/3g.40gb").report.rows
    (two,) = ask("llama-3.1-8b", "A100 SXM/3g.40gb:2").report.rows

    assert Verdict.FITS is one.verdict
    assert two.layout is None
    assert "no way to reach each other" in two.reason


def test_a_layout_over_slices_is_refused() -> None:
    with pytest.raises(InvalidLayoutError, match="slices"):
        ask("llama-3.1-8b", "A100 SXM/3g.40gb", tp=2)


def test_layers_that_do_not_fit_go_to_the_host() -> None:
    asked = {"engine": "llama.cpp", "precision": "q4_k_m"}
    whole = ask("llama-3.1-70b", "RTX 3090:1", **asked).report.rows[0]
    assert whole.placement is not None
    most = whole.placement.most_gpu_layers

    fitting = ask(
        "llama-3.1-70b", "RTX 3090:1", offload=Offload(gpu_layers=most), **asked
    ).report.rows[0]

    assert Verdict.DOES_NOT_FIT is whole.verdict
    assert any(f"--gpu-layers {most}" in mend.change for mend in whole.mends)
    assert Verdict.FITS is fitting.verdict
    assert f"--n-gpu-layers {most}" in fitting.flags


def test_experts_go_to_the_host() -> None:
    row = ask(
        "gpt-oss-120b", "RTX 3090:1", engine="llama.cpp", offload=Offload(host_expert_layers=36)
    ).report.rows[0]

    assert Verdict.FITS is row.verdict
    assert "--cpu-moe" in row.flags
    assert row.placement is not None
    assert row.placement.host_bytes.value > 50 * GIB


def test_offloading_is_no_option_of_engines_that_hold_all_layers() -> None:
    with pytest.raises(ContradictoryOptionsError, match="vLLM keeps all layers"):
        ask("llama-3.1-70b", "H100", offload=Offload(gpu_layers=1))


def test_a_machine_of_open_size_is_refused() -> None:
    with pytest.raises(ContradictoryOptionsError, match="leaves open"):
        ask("llama-3.1-8b", "RTX 3090:1..4 + RTX 4080")


def test_a_layout_of_another_size_than_the_machine_is_refused() -> None:
    with pytest.raises(ContradictoryOptionsError, match="make 4 GPUs"):
        ask("llama-3.1-8b", "RTX 3090 + RTX 4080", tp=4)


def test_an_ambiguous_card_of_a_machine_is_the_smaller_one() -> None:
    answer = ask("llama-3.1-8b", "A100 + RTX 4080")

    assert any(note.startswith("A100 is read as NVIDIA A100") for note in answer.notes)


def test_what_is_free_counts_for_every_card_of_a_machine() -> None:
    asked = {"engine": "llama.cpp", "precision": "q4_k_m"}
    empty = ask("qwen3-32b", "RTX 3090 + RTX 4080", **asked).report.rows[0]
    used = ask("qwen3-32b", "RTX 3090 + RTX 4080", free=Bytes(6 * GIB), **asked).report.rows[0]

    assert Verdict.FITS is empty.verdict
    assert Verdict.FITS is not used.verdict


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_the_frontier_falls_with_the_length(engine: str) -> None:
    row = ask("llama-3.1-8b", "H100 SXM:1", engine=engine, frontier=True).report.rows[0]

    held = [point.sequences for point in row.frontier]
    assert sorted(held, reverse=True) == held
    assert 1024 == row.frontier[0].context_tokens
    assert held[-1] >= 1


def test_a_published_mxfp4_is_a_gguf_to_llama_cpp() -> None:
    answer = ask("gpt-oss-20b", "RTX 4090:1", engine="llama.cpp", context=Tokens(8192))

    assert "mxfp4_moe" == answer.report.question.weight_format.name
    assert any("GGUF" in note for note in answer.notes)
    assert Verdict.FITS is answer.report.rows[0].verdict


def test_the_document_names_what_every_card_holds() -> None:
    document = ask("qwen3-32b", "RTX 3090 + RTX 4080", engine="ollama", precision="q4_k_m").document

    placement = document.rows[0].placement
    assert placement is not None
    assert sum(card.layers for card in placement.cards) + 1 == placement.all_layers
    assert placement.host_bytes.value > 0


def test_a_share_is_lowered_to_what_is_free() -> None:
    # 21.3 of 23.6 GiB are free; vLLM would refuse to start with 92 % of the total
    row = ask("llama-3.1-8b", "RTX 4090:1", free=Bytes(round(21.3 * GIB))).report.rows[0]

    assert "--gpu-memory-utilization 0.9" in row.flags
    assert Verdict.FITS is row.verdict


def test_a_share_that_was_asked_for_is_refused_where_less_is_free() -> None:
    row = ask(
        "llama-3.1-8b",
        "RTX 4090:1",
        free=Bytes(round(21.3 * GIB)),
        knobs=Knobs(memory_fraction=0.95),
    ).report.rows[0]

    assert Verdict.DOES_NOT_FIT is row.verdict
    assert "use at most 90%" in row.reason


def test_the_first_engine_of_vllm_takes_what_is_free() -> None:
    row = ask(
        "llama-3.1-8b", "RTX 4090:1", engine="vllm 0.6", free=Bytes(round(21.3 * GIB))
    ).report.rows[0]

    assert "" == row.reason
    assert row.memory is not None
    assert 0.9 == row.memory.memory_fraction


def test_knobs_are_the_engines_own() -> None:
    row = ask(
        "llama-3.1-8b",
        "RTX 4090:1",
        knobs=Knobs(memory_fraction=0.8, max_batched_tokens=Tokens(1024), max_sequences=16),
    ).report.rows[0]

    assert row.memory is not None
    assert 0.8 == row.memory.memory_fraction
    assert "--max-num-batched-tokens 1024" in row.flags


def test_the_fewest_cards_are_told_where_none_of_those_tried_is_enough() -> None:
    # its card declares 1,680 GB at least; eight GB200 have 1,536
    (enough,) = ask("kimi-k3", "gb200").document.fewest

    assert ("gb200", 16) == (enough.gpu_id, enough.gpus)


def test_the_fewest_cards_are_not_told_where_a_row_fits() -> None:
    assert () == ask("llama-3.1-8b", "H100 SXM").document.fewest
