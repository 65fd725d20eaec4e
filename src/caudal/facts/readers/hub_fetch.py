"""A model's metadata from the hub: its configuration, its index, and headers by range request.

Needs the extra `hub` (huggingface_hub), whose cache keeps the files; headers are kept in the same
cache's assets. Bounded in bytes, files and time; weights are never asked for.
"""

import io
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from huggingface_hub import DryRunFileInfo, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from huggingface_hub.utils._headers import build_hf_headers
from huggingface_hub.utils.tqdm import disable_progress_bars

from caudal.facts.readers.checkpoint_files import (
    INDEX_MOST_BYTES,
    INDEX_NAME,
    SINGLE_NAME,
    index_files,
)
from caudal.facts.readers.hub_cache import header_path, hub_cache
from caudal.facts.readers.json_file import read_object
from caudal.facts.readers.safetensors import HEADER_MOST_BYTES, read_safetensors_stream
from caudal.facts.readers.weight_file import shown
from caudal.vocabulary.errors import CaudalError, ModelNotDownloadedError
from caudal.vocabulary.units import MIB

CONFIG_NAME: Final = "config.json"
# All chosen. A checkpoint in more files is taken by its index alone: one request each is too many.
MOST_FILES: Final = 64
AT_ONCE: Final = 8
MOST_SECONDS: Final = 30.0
REQUEST_SECONDS: Final = 10.0
_CONFIG_MOST_BYTES: Final = 16 * MIB
_FIRST_BYTES: Final = MIB // 2  # one request for most headers: 4,000 tensors


def fetch_metadata(hub_id: str) -> Path:
    """Return the folder of the hub's cache that now holds a model's configuration and index.

    Headers are fetched too, as far as time allows; `hub_cache.header_path` says where they lie.

    Raises:
        ModelNotDownloadedError: the hub does not know the model, does not show it, or does not
            answer in time.
    """
    disable_progress_bars()
    until = time.monotonic() + MOST_SECONDS
    _check_answers(hub_id)
    config = _download(hub_id, CONFIG_NAME, most_bytes=_CONFIG_MOST_BYTES)
    if config is None:
        raise ModelNotDownloadedError(
            f"{hub_id} has no {CONFIG_NAME} on the hub.",
            remedy="For a GGUF repository download one file and name it: ./model.gguf.",
        )
    index = _download(hub_id, INDEX_NAME, most_bytes=INDEX_MOST_BYTES)
    names = [SINGLE_NAME]
    if index is not None:
        listed, _ = read_object(index, within=index.parent, most_bytes=INDEX_MOST_BYTES)
        names = sorted(set(index_files(listed, index).values()))
    if 0 < len(names) <= MOST_FILES:
        _fetch_headers(hub_id, names, snapshot=config.parent, until=until)
    return config.parent


def _check_answers(hub_id: str) -> None:
    """Raise if nobody answers: the client would try again five times, for 25 s in all."""
    url = hf_hub_url(hub_id, CONFIG_NAME, endpoint=os.environ.get("HF_ENDPOINT") or None)
    asked = urllib.request.Request(url, method="HEAD")  # noqa: S310 - as below
    try:
        urllib.request.build_opener(_KeepsSecrets).open(asked, timeout=REQUEST_SECONDS).close()
    except urllib.error.HTTPError as answer:
        answer.close()  # whatever it says, somebody is there
    except (OSError, ValueError) as problem:
        raise _unreachable(hub_id, problem) from None


def _download(hub_id: str, name: str, *, most_bytes: int) -> Path | None:
    """Return where the client keeps a file, None where the repository has none of this name."""
    download = partial(
        hf_hub_download,
        hub_id,
        name,
        cache_dir=str(hub_cache(os.environ)),
        endpoint=os.environ.get("HF_ENDPOINT") or None,
        etag_timeout=REQUEST_SECONDS,
        library_name="caudal",
    )
    try:
        known = download(dry_run=True)
        assert isinstance(known, DryRunFileInfo), "a dry run downloads nothing"
        if known.file_size is None or known.file_size > most_bytes:
            raise ModelNotDownloadedError(
                f"{name} of {hub_id} has {known.file_size or 0:,} bytes; from 1 to {most_bytes:,} "
                "are fetched.",
                remedy="Check that it is the model's own file.",
            )
        return Path(str(download()))
    except LocalEntryNotFoundError as problem:
        raise _unreachable(hub_id, problem) from None
    except EntryNotFoundError:
        return None
    except GatedRepoError:
        raise ModelNotDownloadedError(
            f"{hub_id} is gated: the hub shows its files only to those who were given access.",
            remedy="Ask for access on its page, then log in: hf auth login.",
        ) from None
    except RepositoryNotFoundError:
        raise ModelNotDownloadedError(
            f"The hub has no model {hub_id}, or does not show it to you.",
            remedy="Check the spelling; for a private model log in: hf auth login.",
        ) from None
    except (HfHubHTTPError, OSError, ValueError) as problem:
        raise _unreachable(hub_id, problem) from None


def _fetch_headers(hub_id: str, names: list[str], *, snapshot: Path, until: float) -> None:
    """Fetch the headers of all files, or of none that anybody will read: a part is no use.

    A hub that does not answer in time, or a file that is not there, leaves the index to count.
    """
    missing = [name for name in names if not header_path(snapshot, name).is_file()]
    pool = ThreadPoolExecutor(max_workers=AT_ONCE)
    try:
        jobs = [pool.submit(_fetch_header, hub_id, name, snapshot) for name in missing]
        for job in jobs:
            job.result(timeout=max(until - time.monotonic(), 0.0))
    except (OSError, FutureTimeoutError, CaudalError, ValueError):
        return
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fetch_header(hub_id: str, name: str, snapshot: Path) -> None:
    """Fetch the beginning of one file; check it as a header before it is kept."""
    url = hf_hub_url(
        hub_id,
        name,
        revision=snapshot.name,
        endpoint=os.environ.get("HF_ENDPOINT") or None,
    )
    headers = dict(build_hf_headers(library_name="caudal"))
    raw, size = _range(url, headers, last=_FIRST_BYTES - 1)
    length = int.from_bytes(raw[:8], "little")
    if length > HEADER_MOST_BYTES or size < 8 + length:
        raise ValueError(f"{shown(name)} claims a header of {length:,} bytes")
    if len(raw) < 8 + length:
        raw, size = _range(url, headers, last=8 + length - 1)
    raw = raw[: 8 + length]
    read_safetensors_stream(io.BytesIO(raw), size=size, file=name)
    path = header_path(snapshot, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    unfinished.write_bytes(size.to_bytes(8, "little") + raw)
    unfinished.replace(path)


def _range(url: str, headers: Mapping[str, str], *, last: int) -> tuple[bytes, int]:
    """Return the bytes of a file up to `last`, and the size of the whole file."""
    asked = urllib.request.Request(url, headers={**headers, "Range": f"bytes=0-{last}"})  # noqa: S310 - https, or the user's own HF_ENDPOINT
    opener = urllib.request.build_opener(_KeepsSecrets)
    with opener.open(asked, timeout=REQUEST_SECONDS) as reply:
        if reply.status == 206:
            size = int(reply.headers.get("Content-Range", "").rpartition("/")[2])
        else:  # a server without ranges: its beginning is read, the rest is not
            size = int(reply.headers.get("Content-Length", ""))
        raw: bytes = reply.read(last + 1)
    return raw, size


class _KeepsSecrets(urllib.request.HTTPRedirectHandler):
    """Follows to another host, where files are stored, without the user's token."""

    def redirect_request(  # noqa: PLR0917 - the signature is the library's
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the next request."""
        if urlsplit(newurl).scheme not in {"http", "https"}:
            raise urllib.error.URLError(f"the hub leads to {shown(newurl)}")
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            following.remove_header("Authorization")
        return following


def _unreachable(hub_id: str, problem: Exception) -> ModelNotDownloadedError:
    why = shown(str(problem).strip().split("\n", maxsplit=1)[0])
    return ModelNotDownloadedError(
        f"{hub_id} is neither in the catalogue nor on this machine, and the hub does not answer "
        f"({why}).",
        remedy="Check the connection and HF_ENDPOINT, or name a folder with the model's files.",
    )
