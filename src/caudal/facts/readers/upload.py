"""A model from bytes that someone sent: a config.json, or the beginning of a GGUF file."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from caudal.facts.model import ArchitectureConfidence, ModelSpec
from caudal.facts.readers.config import model_from_config
from caudal.facts.readers.files import CONFIG_MOST_BYTES
from caudal.facts.readers.gguf import read_gguf_stream
from caudal.facts.readers.gguf_model import model_of_header
from caudal.facts.readers.json_file import parse_object
from caudal.facts.readers.weight_file import shown, wrong_file
from caudal.facts.source import Source
from caudal.vocabulary.errors import InvalidModelFileError
from caudal.vocabulary.units import MIB, Bytes

UPLOADED: Final = "upload-"  # how the id of such a model begins
GGUF_MOST_BYTES: Final = Bytes(32 * MIB)  # chosen: twice the longest header known (Gemma 4)
_WHOLE_FILE: Final = 1 << 50  # more than any file: what is not sent cannot be checked
_MAGIC: Final = b"GGUF"


def model_from_upload(
    raw: bytes, *, file: str, read_on: date, file_bytes: int | None = None
) -> ModelSpec:
    """Return the model in an uploaded file; its id is made of what the file holds.

    `file_bytes` is the size of the whole GGUF file, of which only the beginning is sent.

    Raises:
        InvalidModelFileError: it is neither, damaged, absurd or too long.
        UnsupportedModelError: there is no rule for its architecture.
    """
    name = shown(PurePosixPath(file.replace("\\", "/")).name) or "the upload"
    digest = hashlib.blake2b(raw, digest_size=8).hexdigest()
    source = Source(f"{name}, uploaded", read_on, "the user's own file")
    if raw.startswith(_MAGIC):
        header = read_gguf_stream(BytesIO(raw), size=file_bytes or _WHOLE_FILE, file=name)
        return model_of_header(header, source=source, name=UPLOADED + digest)
    if not raw.lstrip().startswith((b"{", b"\xef\xbb\xbf{")):
        raise InvalidModelFileError(
            f"{name} is neither a config.json nor a GGUF file.",
            remedy="Send the config.json of a model, or the first MiB of its GGUF file.",
        )
    if len(raw) > CONFIG_MOST_BYTES:
        raise wrong_file(name, f"has {len(raw):,} bytes, which no configuration has")
    config: Mapping[str, object] = {
        key: value
        for key, value in parse_object(raw, shown=Path(name)).items()
        if not key.startswith("_")
    }
    model = model_from_config(
        config, name=name, source=source, confidence=ArchitectureConfidence.FILE
    )
    return replace(model, id=UPLOADED + digest)
