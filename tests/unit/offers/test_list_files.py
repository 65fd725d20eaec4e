import gzip
import io
import zipfile
from pathlib import Path

import pytest

from caudal.offers.sources.files import InvalidListError, read_list_files
from caudal.vocabulary.errors import UnavailableError
from caudal.vocabulary.units import MIB

TEXT = "provider,gpu\nAcmé,L4\n"


def texts(path: Path, largest: int = MIB) -> list[tuple[str, str]]:
    return [(file.text, file.encoding) for file in read_list_files(path, largest=largest)]


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        ((TEXT * 3).encode("utf-16-le"), "utf-16-le"),
        ((TEXT * 3).encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("latin-1"), "cp1252"),
        (b"a\x81\xe9", "latin-1"),
    ],
)
def test_every_usual_encoding_is_read(raw: bytes, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(raw)

    ((text, found),) = texts(tmp_path / "list.csv")

    assert encoding == found
    assert "é" in text


def test_packed_lists_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("aws/vms.csv", TEXT)
        archive.writestr("gcp/vms.csv", TEXT)

    (packed,) = read_list_files(tmp_path / "a.csv.gz")
    members = list(read_list_files(tmp_path / "b.zip"))

    assert packed.name.endswith("/a.csv")
    assert ["aws/vms.csv", "gcp/vms.csv"] == [member.name for member in members]


def test_a_bomb_does_not_go_off(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * (20 * MIB)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abc":
            archive.writestr(name, b"0" * (MIB // 2))
    (tmp_path / "bomb.zip").write_bytes(packed.getvalue())

    for name in ("bomb.gz", "bomb.zip"):
        with pytest.raises(InvalidListError, match=r"more than|holds more"):
            texts(tmp_path / name)


def test_an_archive_of_a_thousand_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(201):
            archive.writestr(str(number), "x")

    with pytest.raises(InvalidListError, match="201 files"):
        texts(tmp_path / "many.zip")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x1f\x8b broken",
        gzip.compress(b"x" * 1000, mtime=0)[:20],
        b"PK\x03\x04 broken",
        b"\xff\xfe\x00\xd8",
    ],
)
def test_a_damaged_file_is_refused(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(raw)

    with pytest.raises(InvalidListError):
        texts(tmp_path / "x")


def test_a_file_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be read"):
        texts(tmp_path / "nothing.csv")
