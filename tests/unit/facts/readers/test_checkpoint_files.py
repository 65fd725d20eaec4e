"""Safetensors beside a configuration: exact bytes by role, and what contradicts it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from caudal.facts.model import ModelSpec
from caudal.facts.models import resolve_model
from caudal.facts.precision import Role
from caudal.facts.readers.checkpoint_files import read_checkpoint_files
from caudal.vocabulary.errors import CaudalError, InvalidModelFileError
from weight_files import Stored, write_safetensors

HIDDEN, WIDTH, ROWS = 256, 512, 1000
CONFIG: dict[str, object] = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": ROWS,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
PROJECTIONS = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (HIDDEN // 2, HIDDEN),
    "self_attn.v_proj": (HIDDEN // 2, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (WIDTH, HIDDEN),
    "mlp.up_proj": (WIDTH, HIDDEN),
    "mlp.down_proj": (HIDDEN, WIDTH),
}


def tensors(dtype: str = "BF16", *, layers: int = 2, rows: int = ROWS) -> dict[str, Stored]:
    """Return the tensors of the small Llama, its matrices in one dtype with what goes with it."""
    found: dict[str, Stored] = {
        "model.embed_tokens.weight": ("BF16", (rows, HIDDEN)),
        "model.norm.weight": ("BF16", (HIDDEN,)),
        "lm_head.weight": ("BF16", (rows, HIDDEN)),
    }
    for layer in range(layers):
        prefix = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{prefix}.{norm}.weight"] = ("BF16", (HIDDEN,))
        for name, shape in PROJECTIONS.items():
            found |= matrix(f"{prefix}.{name}", shape, dtype)
    return found


def matrix(name: str, shape: tuple[int, int], dtype: str) -> dict[str, Stored]:
    out, inner = shape
    match dtype:
        case "F8_E4M3":
            scale = ("F32", (-(-out // 128), -(-inner // 128)))
            return {f"{name}.weight": (dtype, shape), f"{name}.weight_scale_inv": scale}
        case "I32":
            return {
                f"{name}.qweight": ("I32", (inner, out // 8)),
                f"{name}.qzeros": ("I32", (inner // 128, out // 8)),
                f"{name}.scales": ("F16", (inner // 128, out)),
            }
        case _:
            return {f"{name}.weight": (dtype, shape)}


def write_folder(
    folder: Path, config: Mapping[str, object], *files: Mapping[str, Stored], index: bool = True
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if len(files) == 1:
        write_safetensors(folder / "model.safetensors", files[0])
        return folder
    places: dict[str, str] = {}
    for number, held in enumerate(files, start=1):
        name = f"model-{number:05}-of-{len(files):05}.safetensors"
        write_safetensors(folder / name, held)
        places |= dict.fromkeys(held, name)
    if index:
        text = json.dumps({"metadata": {"total_size": 5_000_000}, "weight_map": places})
        (folder / "model.safetensors.index.json").write_text(text)
    return folder


def read(folder: Path) -> ModelSpec:
    return resolve_model(str(folder))


def halves(all_tensors: dict[str, Stored]) -> tuple[dict[str, Stored], dict[str, Stored]]:
    names = list(all_tensors)
    one = {name: all_tensors[name] for name in names[:9]}
    return one, {name: all_tensors[name] for name in names[9:]}


def test_an_unsplit_checkpoint_gives_bytes_by_role(tmp_path: Path) -> None:
    model = read(write_folder(tmp_path / "m", CONFIG, tensors()))

    assert model.stored is not None
    roles = dict(model.stored.by_role)
    assert 2 * ROWS * HIDDEN == roles[Role.EMBEDDING] == roles[Role.HEAD]
    assert 2 * 2 * 3 * WIDTH * HIDDEN == roles[Role.DENSE]
    assert 2 * 2 * HIDDEN * HIDDEN == roles[Role.KEY_VALUE]
    assert 2 * model.total_parameters == model.checkpoint_bytes == model.stored.total_bytes
    assert model.stored.by_layer[0] == model.stored.by_layer[1]


@pytest.mark.parametrize("index", [True, False])
def test_parts_are_read_as_one_with_and_without_index(tmp_path: Path, *, index: bool) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, *halves(tensors()), index=index)

    model = read(folder)

    assert model.stored is not None
    assert 2 == model.stored.files
    assert 2 * model.total_parameters == model.checkpoint_bytes
    assert index == ("the headers count" in model.note)  # this index states another size


@pytest.mark.parametrize(
    "name", ["model.safetensors.index.json", "model-00001-of-00002.safetensors"]
)
def test_any_file_of_the_checkpoint_names_it(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, *halves(tensors()))

    assert read(folder).checkpoint_bytes == read(folder / name).checkpoint_bytes


def test_a_missing_part_leaves_the_indexs_size(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, *halves(tensors()))
    (folder / "model-00002-of-00002.safetensors").unlink()

    model = read(folder)

    assert model.stored is None
    assert 5_000_000 == model.checkpoint_bytes
    assert "1 of the checkpoint's 2 safetensors files" in model.note


def test_a_pointer_of_git_lfs_is_a_missing_part(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, *halves(tensors()))
    pointer = "version https://git-lfs.example/spec/v1\noid sha256:0\nsize 5\n"
    (folder / "model-00002-of-00002.safetensors").write_text(pointer)

    assert read(folder).stored is None


def test_scales_and_zeros_count_with_their_weights(tmp_path: Path) -> None:
    model = read(write_folder(tmp_path / "m", CONFIG | AWQ, tensors("I32")))

    assert model.stored is not None
    weights = WIDTH * HIDDEN
    exact = 2 * 3 * (weights // 2 + weights // 128 // 2 + weights // 128 * 2)
    assert exact == dict(model.stored.by_role)[Role.DENSE]
    assert "int4" == model.checkpoint.weight_format


def test_blocks_of_fp8_are_seen_where_the_file_does_not_say(tmp_path: Path) -> None:
    model = read(write_folder(tmp_path / "m", CONFIG, tensors("F8_E4M3")))

    assert "fp8-block" == model.checkpoint.weight_format
    assert "config.json says bf16, the tensors are fp8-block" in model.note


def test_weights_that_were_never_quantised_count_as_they_are(tmp_path: Path) -> None:
    model = read(write_folder(tmp_path / "m", CONFIG | FP8, tensors()))

    assert "bf16" == model.checkpoint.weight_format


def test_packed_weights_without_a_recipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelFileError, match="of the type I32"):
        read(write_folder(tmp_path / "m", CONFIG, tensors("I32")))


def test_32_bit_files_of_a_16_bit_model_are_converted(tmp_path: Path) -> None:
    model = read(write_folder(tmp_path / "m", CONFIG, tensors("F32")))

    assert "bf16" == model.checkpoint.weight_format
    assert model.stored is None
    assert "stored in fp32" in model.note


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (tensors(layers=1), "describes 2 layers, but the weights beside it have 1"),
        (tensors(rows=500), "embedding of 1,000 x 256"),
    ],
)
def test_weights_of_another_model_are_refused(
    tmp_path: Path, held: dict[str, Stored], said: str
) -> None:
    with pytest.raises(InvalidModelFileError, match=said):
        read(write_folder(tmp_path / "m", CONFIG, held))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"weight_map": 3}, "weight_map is not an object"),
        ({"weight_map": {"a": "../../etc/passwd"}}, "no file here"),
        ({"weight_map": {"a": "/abs.safetensors"}}, "no file here"),
        ({"weight_map": {"a": 7}}, "no file here"),
        ({"weight_map": {"absent": "model.safetensors"}}, "which does not hold it"),
        (
            {"weight_map": {str(n): f"m{n}.safetensors" for n in range(3000)}},
            "names 3,000 files",
        ),
    ],
)
def test_an_index_that_leads_astray_is_refused(
    tmp_path: Path, index: dict[str, object], said: str
) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, tensors())
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    with pytest.raises(InvalidModelFileError, match=said):
        read(folder)


def test_a_tensor_in_two_parts_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, tensors(), tensors(), index=False)

    with pytest.raises(InvalidModelFileError, match="repeats"):
        read(folder)


@pytest.mark.parametrize("name", ["consolidated.safetensors", "adapter_model.safetensors"])
def test_what_is_no_part_of_the_model_is_left_out(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, tensors())
    write_safetensors(folder / name, tensors(layers=1))

    assert 2 * read(folder).total_parameters == read(folder).checkpoint_bytes


def test_a_part_may_not_be_a_link_that_leads_away(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", CONFIG, tensors())
    (folder / "model.safetensors").rename(tmp_path / "elsewhere.safetensors")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere.safetensors")

    with pytest.raises(CaudalError, match="leads out of its folder"):
        read_checkpoint_files(folder, within=folder)
