"""Model files from disk: whatever a stranger put there, one error that names it, no hang."""

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from caudal.facts.readers.checkpoint_files import INDEX_MOST_BYTES, INDEX_NAME
from caudal.facts.readers.files import (
    CONFIG_MOST_BYTES,
    CONFIG_NAME,
    existing_path,
    is_explicit_path,
    read_model_files,
)
from caudal.facts.readers.hub_cache import cached_snapshot, is_hub_id
from caudal.vocabulary.errors import CaudalError, InvalidModelFileError, UnavailableError

CONFIG = {"model_type": "llama", "hidden_size": 8}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / CONFIG_NAME).write_text(json.dumps(CONFIG))
    return made


def write_index(folder: Path, text: str) -> None:
    (folder / INDEX_NAME).write_text(text)


def test_a_folder_gives_its_configuration(folder: Path) -> None:
    files = read_model_files(folder)

    assert CONFIG == files.config
    assert str(folder / CONFIG_NAME) == files.config_file
    assert files.checkpoint_bytes is None


def test_a_file_gives_the_same_as_its_folder(folder: Path) -> None:
    write_index(folder, '{"metadata": {"total_size": 16}}')

    assert read_model_files(folder) == read_model_files(folder / CONFIG_NAME)


def test_the_day_is_that_of_the_file(folder: Path) -> None:
    os.utime(folder / CONFIG_NAME, (86_400, 86_400))

    assert datetime(1970, 1, 2, tzinfo=UTC).date() == read_model_files(folder).modified_on


def test_keys_of_the_catalogue_are_dropped_from_a_strangers_file(folder: Path) -> None:
    (folder / CONFIG_NAME).write_text('{"a": 1, "_total_params": 5, "_name_or_path": "x"}')

    assert {"a": 1} == read_model_files(folder).config


def test_a_byte_order_mark_is_no_fault(folder: Path) -> None:
    (folder / CONFIG_NAME).write_bytes(b"\xef\xbb\xbf" + b'{"a": 1}')

    assert {"a": 1} == read_model_files(folder).config


@pytest.mark.parametrize("size", ["141107412992", "141107412992.0"])
def test_the_index_states_the_checkpoints_size(folder: Path, size: str) -> None:
    write_index(folder, f'{{"metadata": {{"total_size": {size}}}, "weight_map": {{}}}}')

    assert 141_107_412_992 == read_model_files(folder).checkpoint_bytes


@pytest.mark.parametrize("text", ["{}", '{"metadata": {}}', '{"metadata": {"total_size": null}}'])
def test_an_index_without_a_size_leaves_it_unknown(folder: Path, text: str) -> None:
    write_index(folder, text)

    assert read_model_files(folder).checkpoint_bytes is None


@pytest.mark.parametrize(
    "size", ["0", "-5", "1.5", '"16"', "true", "[]", "1e300", "10000000000000000"]
)
def test_a_senseless_size_names_file_and_field(folder: Path, size: str) -> None:
    write_index(folder, f'{{"metadata": {{"total_size": {size}}}}}')

    with pytest.raises(InvalidModelFileError, match=r"metadata\.total_size") as caught:
        read_model_files(folder)

    assert INDEX_NAME in caught.value.problem


def test_metadata_that_is_no_object_is_named(folder: Path) -> None:
    write_index(folder, '{"metadata": 5}')

    with pytest.raises(InvalidModelFileError, match="metadata is not an object"):
        read_model_files(folder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ('{"a": 1', "ends too early"),
        ('{"a": "b', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1} x', "not JSON"),
        ('{"a": 1, "a": 2}', "field a stands twice"),
        ('{"b": {"a": 1, "a": 1}}', "field a stands twice"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": -Infinity}', "holds -Infinity"),
        ('{"a": 1e999}', "beyond any number"),
        ('{"a": ' + "9" * 5000 + "}", "endless number"),
        ("[]", "no object but a list"),
        ("5", "no object but a int"),
        ("null", "no object but a NoneType"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested more than 100 deep"),
        ("[" * 100_000, "nested too deeply"),
        ("version https://git-lfs.example/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    ],
)
def test_damaged_contents_are_named(folder: Path, text: str, why: str) -> None:
    (folder / CONFIG_NAME).write_text(text)

    with pytest.raises(InvalidModelFileError, match=why) as caught:
        read_model_files(folder)

    assert CONFIG_NAME in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("raw", ['{"a": "é"}'.encode("latin-1"), '{"a": 1}'.encode("utf-16")])
def test_other_encodings_are_refused(folder: Path, raw: bytes) -> None:
    (folder / CONFIG_NAME).write_bytes(raw)

    with pytest.raises(InvalidModelFileError, match="not UTF-8"):
        read_model_files(folder)


@pytest.mark.parametrize(
    ("name", "most"), [(CONFIG_NAME, CONFIG_MOST_BYTES), (INDEX_NAME, INDEX_MOST_BYTES)]
)
def test_a_huge_file_is_refused_unread(folder: Path, name: str, most: int) -> None:
    with (folder / name).open("wb") as stream:
        stream.truncate(2 * 2**30)  # sparse: takes no room on disk

    with pytest.raises(InvalidModelFileError, match=f"more than {most:,} are not read"):
        read_model_files(folder)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelFileError, match="no file or folder"):
        read_model_files(tmp_path / "nothing")


def test_a_folder_without_configuration_says_what_to_put_there(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_text("x")

    with pytest.raises(InvalidModelFileError, match=r"has no config\.json") as caught:
        read_model_files(tmp_path)

    assert "model.gguf" in caught.value.remedy


@pytest.mark.parametrize("name", ["model.gguf", "model.onnx"])
def test_weights_are_no_configuration(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")

    with pytest.raises(InvalidModelFileError, match="holds weights"):
        read_model_files(tmp_path / name)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "x.pt", "x.pth", "x.ckpt", "x.pkl"])
def test_a_pickled_checkpoint_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")

    for path in (tmp_path, tmp_path / name):
        with pytest.raises(InvalidModelFileError, match="pickled") as caught:
            read_model_files(path)
        assert "safetensors" in caught.value.remedy


def test_a_path_through_a_file_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidModelFileError, match="as if it were a folder"):
        read_model_files(folder / CONFIG_NAME / "deeper")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    with pytest.raises(InvalidModelFileError, match="circle"):
        read_model_files(tmp_path / "a")


def test_a_configuration_that_is_a_loop_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).symlink_to(CONFIG_NAME)

    with pytest.raises(InvalidModelFileError, match="circle"):
        read_model_files(tmp_path)


def test_a_broken_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).symlink_to("gone.json")

    with pytest.raises(InvalidModelFileError, match="no file or folder"):
        read_model_files(tmp_path)


@pytest.mark.parametrize("name", [CONFIG_NAME, INDEX_NAME])
def test_a_link_out_of_the_folder_is_refused(folder: Path, name: str) -> None:
    outside = folder.parent / "secret.json"
    outside.write_text("{}")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)

    with pytest.raises(InvalidModelFileError, match="leads out of its folder"):
        read_model_files(folder)


def test_a_file_named_by_a_link_that_leads_out_is_refused(folder: Path) -> None:
    link = folder.parent / "elsewhere" / CONFIG_NAME
    link.parent.mkdir()
    link.symlink_to(folder / CONFIG_NAME)

    with pytest.raises(InvalidModelFileError, match="leads out of its folder"):
        read_model_files(link)


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    (folder / CONFIG_NAME).rename(folder / "real.json")
    (folder / CONFIG_NAME).symlink_to("real.json")

    assert CONFIG == read_model_files(folder).config


def test_a_folder_may_be_named_by_a_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)

    assert CONFIG == read_model_files(link).config


def test_a_folder_named_as_the_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).mkdir()

    with pytest.raises(InvalidModelFileError, match="is a folder, not a file"):
        read_model_files(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CONFIG_NAME)

    with pytest.raises(InvalidModelFileError, match="pipe, socket or device"):
        read_model_files(tmp_path)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # socket paths are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(CONFIG_NAME)

        with pytest.raises(InvalidModelFileError, match="pipe, socket or device"):
            read_model_files(tmp_path)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(CaudalError):
        read_model_files(Path(device))


def test_a_file_that_states_no_size_is_bounded_all_the_same() -> None:
    with pytest.raises(InvalidModelFileError):
        read_model_files(Path("/proc/self/status"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(folder: Path) -> None:
    (folder / CONFIG_NAME).chmod(0)

    with pytest.raises(UnavailableError, match="may not be read") as caught:
        read_model_files(folder)

    assert "permission" in caught.value.remedy


@pytest.mark.parametrize(
    ("path", "why"),
    [("a\x00b", "null character"), ("a" * 5000, "longer than a path"), ("x" * 300, "longer")],
)
def test_impossible_paths_are_refused(path: str, why: str) -> None:
    with pytest.raises(InvalidModelFileError, match=why):
        read_model_files(Path(path))


def test_unprintable_characters_of_a_path_are_escaped(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelFileError) as caught:
        read_model_files(tmp_path / "\x1b[31mred")

    assert "\x1b" not in caught.value.problem


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        ("./x", True),
        ("../x", True),
        ("/x", True),
        ("~/x", True),
        (".", True),
        ("config.json", True),
        ("a/b/c", True),
        ("x/", True),
        ("model.gguf", True),
        ("llama-3.1-70b", False),
        ("meta-llama/Llama-3.1-70B", False),
    ],
)
def test_some_texts_can_only_be_paths(text: str, *, explicit: bool) -> None:
    assert explicit == is_explicit_path(text)


@pytest.mark.parametrize(
    ("text", "is_id"),
    [
        ("meta-llama/Llama-3.1-70B", True),
        ("a/b", True),
        ("llama", False),
        ("a/b/c", False),
        ("../b", False),
        ("a/../b", False),
        ("a b/c", False),
        ("é/b", False),
        ("a/" + "b" * 200, False),
    ],
)
def test_a_hub_id_is_an_organisation_and_a_name(text: str, *, is_id: bool) -> None:
    assert is_id == is_hub_id(text)


@pytest.mark.parametrize("text", ["", "a\x00b", "x" * 5000, "~nobody-of-this-name/x"])
def test_what_cannot_be_a_path_does_not_exist(text: str) -> None:
    found = existing_path(text)

    assert found is None or text == ""


def make_cache(root: Path, *revisions: str) -> Path:
    """Return the model's folder of a hub cache, laid out as the hub's client does."""
    model = root / "models--org--name"
    (model / "blobs").mkdir(parents=True)
    (model / "refs").mkdir()
    for number, revision in enumerate(revisions):
        blob = model / "blobs" / f"blob{number}"
        blob.write_text(json.dumps({"hidden_size": number}))
        snapshot = model / "snapshots" / revision
        snapshot.mkdir(parents=True)
        (snapshot / CONFIG_NAME).symlink_to(f"../../blobs/{blob.name}")
        os.utime(snapshot, (number, number))
    return model


@pytest.mark.parametrize(
    ("setting", "inside"),
    [
        ("HF_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
        ("HOME", ".cache/huggingface/hub"),
    ],
)
def test_the_hubs_cache_is_found_where_its_client_keeps_it(
    tmp_path: Path, setting: str, inside: str
) -> None:
    make_cache(tmp_path / inside, "a" * 40)

    snapshot = cached_snapshot("org/name", environment={setting: str(tmp_path)})

    assert snapshot is not None
    assert {"hidden_size": 0} == read_model_files(snapshot).config


def test_the_main_branch_decides_among_snapshots(tmp_path: Path) -> None:
    model = make_cache(tmp_path, "a" * 40, "b" * 40)
    (model / "refs" / "main").write_text("a" * 40 + "\n")

    snapshot = cached_snapshot("org/name", environment={"HF_HUB_CACHE": str(tmp_path)})

    assert "a" * 40 == getattr(snapshot, "name", None)


@pytest.mark.parametrize("main", ["", "../../..", "c" * 40, "\xff", "a" * 5000])
def test_the_newest_snapshot_stands_in_for_a_damaged_branch(tmp_path: Path, main: str) -> None:
    model = make_cache(tmp_path, "a" * 40, "b" * 40)
    (model / "refs" / "main").write_bytes(main.encode("latin-1"))

    snapshot = cached_snapshot("org/name", environment={"HF_HUB_CACHE": str(tmp_path)})

    assert "b" * 40 == getattr(snapshot, "name", None)


@pytest.mark.parametrize("text", ["org/other", "name", "../x/y"])
def test_nothing_is_found_where_nothing_was_downloaded(tmp_path: Path, text: str) -> None:
    make_cache(tmp_path, "a" * 40)

    assert cached_snapshot(text, environment={"HF_HUB_CACHE": str(tmp_path)}) is None


def test_a_snapshot_may_not_link_out_of_its_model(tmp_path: Path) -> None:
    model = make_cache(tmp_path, "a" * 40)
    (tmp_path / "secret").write_text("{}")
    config = model / "snapshots" / ("a" * 40) / CONFIG_NAME
    config.unlink()
    config.symlink_to(tmp_path / "secret")

    with pytest.raises(InvalidModelFileError, match="leads out of its folder"):
        read_model_files(config.parent)
