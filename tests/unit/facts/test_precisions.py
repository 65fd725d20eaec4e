import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.facts.models import model_catalogue
from caudal.facts.precision import Arithmetic, Role, WeightFormat
from caudal.facts.precisions import (
    gguf_blocks,
    kv_format,
    kv_formats,
    weight_format,
    weight_formats,
)
from caudal.vocabulary.errors import UnknownPrecisionError

# Llama-3.1-8B: parameters by role, from its configuration.
LLAMA_31_8B = {
    Role.EMBEDDING: 128_256 * 4096,
    Role.HEAD: 128_256 * 4096,
    Role.QUERY: 32 * 4096 * 4096,
    Role.KEY_VALUE: 32 * 2 * 4096 * 1024,
    Role.ATTENTION_OUTPUT: 32 * 4096 * 4096,
    Role.DENSE: 32 * 3 * 4096 * 14_336,
    Role.NORM: 65 * 4096,
}


def average_bits(weights: WeightFormat) -> float:
    total = sum(count * weights.bits_for(role) for role, count in LLAMA_31_8B.items())
    return total / sum(LLAMA_31_8B.values())


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("iq1_s", 2.0042),
        ("iq1_m", 2.1460),
        ("iq2_xxs", 2.3824),
        ("iq2_xs", 2.5882),
        ("iq2_s", 2.7403),
        ("iq2_m", 2.9294),
        ("iq3_xxs", 3.2548),
        ("iq3_xs", 3.4977),
        ("iq3_s", 3.6606),
        ("iq3_m", 3.7628),
        ("iq4_xs", 4.4597),
        ("iq4_nl", 4.6818),
        ("q2_k_s", 2.9697),
        ("q2_k", 3.1593),
        ("q3_k_s", 3.6429),
        ("q3_k_l", 4.2979),
        ("q4_k_s", 4.6672),
        ("q4_k_m", 4.8944),
        ("q5_k_s", 5.5704),
        ("q5_k_m", 5.7036),
        ("q6_k", 6.5633),
        ("q8_0", 8.5008),
    ],
)
def test_a_gguf_mix_has_the_bits_that_llama_cpp_publishes(name: str, bits: float) -> None:
    # Source: ggml-org/llama.cpp tools/quantize/README.md, table for Llama-3.1-8B.
    assert bits == pytest.approx(average_bits(weight_format(name)), abs=1e-4)


@pytest.mark.parametrize(
    ("block", "bits"),
    [("q4_k", 4.5), ("q6_k", 6.5625), ("q8_0", 8.5), ("iq4_xs", 4.25), ("mxfp4", 4.25)],
)
def test_a_block_counts_its_scales(block: str, bits: float) -> None:
    assert bits == gguf_blocks()[block].bits


@pytest.mark.parametrize(
    ("name", "bytes_per_weight"),
    [
        ("fp32", 4.0),
        ("bf16", 2.0),
        ("fp8", 1.0),
        ("int8", 1.0),
        ("int4", 4.15625 / 8),
        ("mxfp4", 4.25 / 8),
        ("nvfp4", 4.5 / 8),
        ("fp8-block", (8 + 32 / 128**2) / 8),
    ],
)
def test_a_weight_carries_its_share_of_the_scales(name: str, bytes_per_weight: float) -> None:
    assert bytes_per_weight == weight_format(name).bytes_per_weight


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("AWQ", "int4"),
        ("w8a8", "int8"),
        ("4bit", "int4"),
        ("16-bit", "bf16"),
        ("half", "fp16"),
        ("F16", "fp16"),
        ("FP8_E4M3", "fp8"),
        ("fp8 block", "fp8-block"),
        ("Q4_K_M", "q4_k_m"),
        ("q4-k-m", "q4_k_m"),
        ("UD-Q4_K_XL", "q4_k_xl"),
        ("fp4", "nvfp4"),
    ],
)
def test_a_format_is_found_as_people_write_it(written: str, meant: str) -> None:
    assert meant == weight_format(written).name


def test_an_unknown_format_names_its_neighbours() -> None:
    with pytest.raises(UnknownPrecisionError) as raised:
        weight_format("q4_k_n")

    assert "q4_k_m" in raised.value.remedy


def test_an_unknown_kv_format_names_all() -> None:
    with pytest.raises(UnknownPrecisionError) as raised:
        kv_format("fp5")

    assert "q8_0" in raised.value.remedy


@pytest.mark.parametrize(("written", "size"), [("auto", 2.0), ("fp8", 1.0), ("q8_0", 1.0625)])
def test_a_kv_element_has_its_size(written: str, size: float) -> None:
    assert size == kv_format(written).bytes_per_element


def test_a_recipe_keeps_what_it_does_not_quantise() -> None:
    int4, mxfp4 = weight_format("int4"), weight_format("mxfp4")

    assert int4.bits_for(Role.HEAD) == 16
    assert int4.bits_for(Role.ROUTER) == 16
    assert mxfp4.bits_for(Role.QUERY) == 16
    assert mxfp4.bits_for(Role.ROUTED_EXPERT) == 4.25


def test_a_tied_embedding_is_stored_as_the_head() -> None:
    mix = weight_format("q4_k_m")

    assert mix.bits_for(Role.EMBEDDING) == 4.5
    assert mix.bits_for(Role.EMBEDDING, tied_embeddings=True) == 6.5625


def test_full_width_is_the_same_for_all_roles() -> None:
    assert {32.0} == {weight_format("fp32").bits_for(role) for role in Role}
    assert {16.0} == {weight_format("bf16").bits_for(role) for role in Role}


def test_every_format_is_whole_and_sourced() -> None:
    for entry in weight_formats():
        assert entry.engines or entry.name == "bitnet", entry.name
        assert entry.source.where, entry.name
        assert 1 <= entry.bits <= 32, entry.name
        assert 0 <= entry.scale_bits <= 1, entry.name
        assert entry.is_quantised == (entry.name not in {"fp32", "bf16", "fp16"})
        assert entry.activations_quantised == (entry.arithmetic is not Arithmetic.BF16)
    for kv in kv_formats():
        assert kv.engines, kv.name
        assert kv.source is not None
        assert 0.5 <= kv.bytes_per_element <= 4


@given(entry=st.sampled_from(weight_formats()), role=st.sampled_from(list(Role)))
def test_no_role_is_free_and_none_is_wider_than_full(entry: WeightFormat, role: Role) -> None:
    assert 1 < entry.bits_for(role) <= 32


@given(entry=st.sampled_from(weight_formats()))
def test_every_name_and_alias_leads_back(entry: WeightFormat) -> None:
    for name in (entry.name, *entry.aliases):
        assert entry is weight_format(name.upper())


def test_every_checkpoint_of_the_catalogue_has_a_known_format() -> None:
    stored = {entry.weight_format for entry in model_catalogue().entries} - {""}

    assert stored == {weight_format(name).name for name in stored}
