"""llama.cpp's layers over cards and host."""

from dataclasses import replace

import pytest

from caudal.facts.models import resolve_model
from caudal.fit.budget import CardMemory, Verdict
from caudal.fit.placement import (
    Offload,
    Placement,
    fewest_host_experts,
    most_gpu_layers,
    place,
)
from caudal.fit.serving import Serving
from caudal.fit.weights import layer_weights, weight_needs
from caudal.vocabulary.errors import InvalidQuantityError
from caudal.vocabulary.units import GIB, MIB
from memory_cases import served

LLAMA_70B = resolve_model("llama-3.1-70b")
GPT_OSS = resolve_model("gpt-oss-120b")


def llama_cpp(weights: str = "q4_k_m", *, context: int = 8192) -> Serving:
    return served(by="llama.cpp", weights=weights, longest=context, sequences=1)


def cards(*free_gib: float) -> list[CardMemory]:
    return [CardMemory(each * GIB, unified=False) for each in free_gib]


def placed(*free_gib: float, offload: Offload | None = None) -> Placement:
    return place(LLAMA_70B, llama_cpp(), cards(*free_gib), offload or Offload())


def test_layers_follow_the_free_memory() -> None:
    # 81 layers with the output, of 24 and 16 parts of 40: the first card takes 0 to 48
    first, second = placed(24, 16).devices

    assert (49, False) == (first.layers, first.output)
    assert (31, True) == (second.layers, second.output)


def test_equal_cards_share_equally() -> None:
    assert [41, 39] == [device.layers for device in placed(24, 24).devices]


def test_shares_can_be_given() -> None:
    split = placed(24, 16, offload=Offload(tensor_split=(3.0, 1.0)))

    assert [61, 19] == [device.layers for device in split.devices]


@pytest.mark.parametrize("shares", [(1.0,), (0.0, 0.0), (1.0, -1.0), (1.0, 1.0, 1.0)])
def test_shares_that_divide_nothing_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidQuantityError, match="2 cards"):
        placed(24, 16, offload=Offload(tensor_split=shares))


def test_the_output_layer_is_the_first_to_be_offloaded() -> None:
    one = placed(24, offload=Offload(gpu_layers=1))

    assert (0, True) == (one.devices[0].layers, one.devices[0].output)
    assert 80 == one.host.layers
    assert one.devices[0].needs.kv.bytes_for(sequences=1, tokens=8192) == 0


def test_nothing_offloaded_leaves_a_compute_buffer_only() -> None:
    none = placed(24, offload=Offload(gpu_layers=0))

    assert 0 == none.devices[0].needs.weights.value
    assert none.devices[0].needs.activation.value > 0


def test_no_placement_loses_weights() -> None:
    serving = llama_cpp()
    whole = weight_needs(LLAMA_70B, serving)

    for offload in (Offload(), Offload(gpu_layers=33), Offload(gpu_layers=0)):
        split = placed(24, 16, 8, offload=offload)
        held = sum(device.needs.weights.value for device in split.devices)
        assert held + split.host.weights.value == pytest.approx(whole.total.value + whole.host)


def test_layers_and_what_surrounds_them_are_all_weights() -> None:
    sizes = layer_weights(LLAMA_70B, llama_cpp())
    whole = weight_needs(LLAMA_70B, llama_cpp())

    assert len(sizes.layers) == 80
    assert sizes.total == pytest.approx(whole.total.value + whole.host)


def test_cells_of_layers_on_the_host_are_there_too() -> None:
    half = placed(24, offload=Offload(gpu_layers=41))

    on_card = half.devices[0].needs.kv.bytes_for(sequences=1, tokens=8192)
    on_host = half.host.bytes_needed(sequences=1, tokens=8192).value - half.host.weights.value
    assert on_card == on_host


def test_experts_can_stay_on_the_host_alone() -> None:
    serving = llama_cpp("mxfp4_moe")
    free = cards(23.5)

    whole = place(GPT_OSS, serving, free)
    apart = place(GPT_OSS, serving, free, Offload(host_expert_layers=36))

    moved = apart.host.weights.value - whole.host.weights.value
    assert whole.devices[0].needs.weights.value - apart.devices[0].needs.weights.value == (
        pytest.approx(moved)
    )
    assert (36, 0) == (apart.host.expert_layers, apart.host.layers)
    assert not apart.whole
    assert whole.whole


def test_the_largest_number_of_layers_is_the_last_that_surely_fits() -> None:
    serving, free = llama_cpp(), cards(24, 16)

    most = most_gpu_layers(LLAMA_70B, serving, free, sequences=1, tokens=8192)

    verdicts = [
        place(LLAMA_70B, serving, free, Offload(gpu_layers=count)).verdict(
            free, sequences=1, tokens=8192
        )
        for count in (most, most + 1)
    ]
    assert Verdict.FITS is verdicts[0]
    assert Verdict.FITS is not verdicts[1]


def test_the_fewest_experts_leave_until_the_rest_fits() -> None:
    serving, free = llama_cpp("mxfp4_moe"), cards(23.5)

    fewest = fewest_host_experts(GPT_OSS, serving, free, sequences=1, tokens=8192)

    assert fewest is not None
    fitting = place(GPT_OSS, serving, free, Offload(host_expert_layers=fewest))
    assert Verdict.FITS is fitting.verdict(free, sequences=1, tokens=8192)
    one_less = place(GPT_OSS, serving, free, Offload(host_expert_layers=fewest - 1))
    assert Verdict.FITS is not one_less.verdict(free, sequences=1, tokens=8192)


def test_a_dense_model_has_no_experts_to_move() -> None:
    free = cards(24)

    assert None is fewest_host_experts(LLAMA_70B, llama_cpp(), free, sequences=1, tokens=8192)


def test_a_card_too_small_for_the_rest_is_not_helped_by_moving_experts() -> None:
    serving, free = llama_cpp("mxfp4_moe"), cards(1)

    assert None is fewest_host_experts(GPT_OSS, serving, free, sequences=1, tokens=8192)


def test_a_log_of_llama_cpp_has_the_same_buffers() -> None:
    # gpt-oss-20b, b6800: CPU_Mapped 586.82 MiB, CUDA0 10949.38 MiB of weights
    split = place(resolve_model("gpt-oss-20b"), llama_cpp("mxfp4_moe", context=131_072), cards(24))

    assert split.devices[0].needs.weights.value == pytest.approx(10_949.38 * MIB, rel=0.01)
    assert split.host.weights.value == pytest.approx(586.82 * MIB, rel=0.05)


def test_prompts_are_multiplied_in_copies_of_what_stays_on_the_host() -> None:
    serving = replace(llama_cpp("bf16", context=512), flash_attention=False)
    model = resolve_model("llama-2-13b")

    none = place(model, serving, cards(24), Offload(gpu_layers=0)).devices[0].needs
    whole = place(model, serving, cards(48)).devices[0].needs

    assert none.activation.value > whole.activation.value
