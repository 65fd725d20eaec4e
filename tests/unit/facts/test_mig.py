"""Slices of cards: sizes and names from NVIDIA's MIG user guide, read on 2026-11-30."""

import pytest

from caudal.facts.gpus import gpu_catalogue
from caudal.facts.mig import mig_shares, profiles_of
from caudal.vocabulary.errors import UnknownGpuError
from caudal.vocabulary.units import GIB


@pytest.mark.parametrize(
    "text",
    [
        "H100-SXM/3g.40gb",
        "h100 sxm MIG 3g.40gb",
        "H100-SXM-3g.40gb",
        "H100 SXM mig-3g.40gb",
        "2x H100 SXM/3g.40gb",
    ],
)
def test_a_slice_is_named_behind_its_card(text: str) -> None:
    (spec,) = gpu_catalogue().resolve(text).specs

    assert "h100-sxm/3g.40gb" == spec.id
    assert "NVIDIA H100 SXM5 80GB MIG 3g.40gb" == spec.name


@pytest.mark.parametrize(
    ("profile", "shown_gib"), [("1g.10gb", 9.75), ("1g.20gb", 19.62), ("3g.40gb", 39.5)]
)
def test_memory_of_a_slice_is_what_nvidia_smi_shows(profile: str, shown_gib: float) -> None:
    (spec,) = gpu_catalogue().resolve(f"h100-sxm/{profile}").specs

    assert spec.usable_bytes / GIB == pytest.approx(shown_gib, abs=0.1)
    assert spec.usable_is_estimate


def test_the_size_of_a_slice_says_which_card_is_meant() -> None:
    small = gpu_catalogue().resolve("A100 SXM/3g.20gb").specs
    large = gpu_catalogue().resolve("A100 SXM/3g.40gb").specs

    assert ["a100-40g-sxm/3g.20gb"] == [spec.id for spec in small]
    assert ["a100-80g-sxm/3g.40gb"] == [spec.id for spec in large]


def test_a_slice_has_its_share_of_the_card_and_no_peers() -> None:
    whole = gpu_catalogue().get("a100-80g-sxm")

    (part,) = gpu_catalogue().resolve("a100-80g-sxm/3g.40gb").specs

    assert part.memory_bytes_per_s == whole.memory_bytes_per_s / 2
    assert whole.dense_bf16_flop_per_s is not None
    assert part.dense_bf16_flop_per_s == pytest.approx(whole.dense_bf16_flop_per_s * 3 / 7)
    assert "none" == part.interconnect
    assert not part.has_fast_link


@pytest.mark.parametrize(
    ("gpu", "profiles"),
    [
        ("a100-40g-sxm", "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"),
        ("a30", "1g.6gb 2g.12gb 4g.24gb"),
        ("h200-sxm", "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"),
        ("b200", "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"),
        ("rtx-pro-6000-se", "1g.24gb 2g.48gb 4g.96gb"),
        ("l40s", ""),
    ],
)
def test_slices_are_named_as_the_maker_names_them(gpu: str, profiles: str) -> None:
    assert profiles.split() == list(profiles_of(gpu_catalogue().get(gpu)))


def test_a_slice_that_does_not_exist_lists_those_that_do() -> None:
    with pytest.raises(UnknownGpuError) as refused:
        gpu_catalogue().resolve("H100 SXM/5g.50gb")

    assert "3g.40gb" in refused.value.remedy


def test_a_card_without_slices_says_so() -> None:
    with pytest.raises(UnknownGpuError) as refused:
        gpu_catalogue().resolve("L40S/1g.10gb")

    assert "cannot be sliced" in refused.value.remedy


def test_no_share_is_more_than_the_card() -> None:
    assert all(0 < share.memory <= 1 and 0 < share.compute <= 1 for share in mig_shares())
