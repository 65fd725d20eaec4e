"""The sources that can be asked over the network, with the user's own keys.

Every address can be replaced by an environment variable, for a proxy or a server of one's own.
"""

import json
import os
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import quote

from caudal.offers.batch import OfferBatch, ReadingFacts
from caudal.offers.offer import AgeLimits
from caudal.offers.sources import dstack, gpuhunt, runpod
from caudal.offers.sources.keys import Key, MissingKeyError, find_setting, keys_file
from caudal.offers.sources.list_format import Reading
from caudal.offers.sources.list_formats import LIST_FORMATS
from caudal.offers.sources.rows import Origin, batch_of_rows
from caudal.offers.sources.transport import Request, SourceUnavailableError, fetch
from caudal.vocabulary.units import Seconds

_MOST_OFFERS: Final = 10_000  # chosen: more than Vast.ai has ever listed


class LiveSource(NamedTuple):
    """One source: what it needs, and how it is asked."""

    name: str  # of a format in LIST_FORMATS
    needs: tuple[str, ...]  # variables of the environment or the file of keys
    read: Callable[[Seconds], str]  # within so many seconds
    about: str

    @property
    def title(self) -> str:
        """Return its name for people."""
        return LIST_FORMATS[self.name].title

    @property
    def age_limits(self) -> AgeLimits:
        """Return how fast its prices grow old, unless the user said otherwise."""
        return LIST_FORMATS[self.name].age_limits

    def is_ready(self) -> bool:
        """Return whether everything it needs is set.

        Raises:
            UnsafeKeysError: the file of keys may be read by others.
        """
        return all(find_setting(name) for name in self.needs)


def ask(
    source: LiveSource, *, facts: ReadingFacts, now: datetime, timeout_s: Seconds
) -> OfferBatch:
    """Return what a source offers now.

    Raises:
        MissingKeyError: it needs a key that is not set.
        SourceUnavailableError: it did not answer, or not with offers.
    """
    text = source.read(timeout_s)
    entry = LIST_FORMATS[source.name]
    today = now.date()
    origin = Origin(
        source=source.name,
        title=entry.title,
        licence=entry.licence,
        where=f"{entry.title}, asked",
        observed_on=today,
        read_on=today,
        age_limits=entry.age_limits,
    )
    batch = batch_of_rows(entry.rows(text, Reading(entry.title, "")), origin=origin, facts=facts)
    if not batch.offers and not batch.set_aside:
        raise SourceUnavailableError(
            f"{entry.title} answered without an offer; what was known is kept.",
            remedy="Check that the key may list offers.",
        )
    return batch


def _vastai(timeout_s: Seconds) -> str:
    key = _needed("VAST_API_KEY", "vastai")
    wanted = {"rentable": {"eq": True}, "type": "on-demand", "limit": _MOST_OFFERS}
    return fetch(
        Request(
            _address("CAUDAL_VASTAI_URL", "https://console.vast.ai/api/v0/bundles/"),
            {**_bearer(key), "Content-Type": "application/json"},
            json.dumps(wanted).encode(),
        ),
        timeout_s=timeout_s,
    )


def _runpod(timeout_s: Seconds) -> str:
    key = _needed("RUNPOD_API_KEY", "runpod")
    return fetch(
        Request(
            _address("CAUDAL_RUNPOD_URL", "https://api.runpod.io/graphql"),
            {**_bearer(key), "Content-Type": "application/json"},
            json.dumps({"query": runpod.QUERY}).encode(),
        ),
        timeout_s=timeout_s,
    )


def _shadeform(timeout_s: Seconds) -> str:
    key = _needed("SHADEFORM_API_KEY", "shadeform")
    url = _address("CAUDAL_SHADEFORM_URL", "https://api.shadeform.ai/v1/instances/types")
    return fetch(Request(url, {"X-API-KEY": key.reveal()}), timeout_s=timeout_s)


def _dstack(timeout_s: Seconds) -> str:
    token = _needed("DSTACK_TOKEN", "dstack")
    server = _needed("DSTACK_SERVER_URL", "dstack").reveal().rstrip("/")
    project = quote(_needed("DSTACK_PROJECT", "dstack").reveal(), safe="")
    return fetch(
        Request(
            f"{server}/api/project/{project}/runs/get_plan",
            {**_bearer(token), "Content-Type": "application/json"},
            dstack.PLAN_REQUEST.encode(),
        ),
        timeout_s=timeout_s,
    )


def _gpuhunt(_timeout_s: Seconds) -> str:
    return gpuhunt.live_catalogue()


LIVE_SOURCES: Final = {
    source.name: source
    for source in (
        LiveSource("vastai", ("VAST_API_KEY",), _vastai, "a marketplace of hosts"),
        LiveSource("runpod", ("RUNPOD_API_KEY",), _runpod, "GPU types of both its clouds"),
        LiveSource("shadeform", ("SHADEFORM_API_KEY",), _shadeform, "many clouds, one API"),
        LiveSource(
            "dstack",
            ("DSTACK_TOKEN", "DSTACK_SERVER_URL", "DSTACK_PROJECT"),
            _dstack,
            "the backends of your project",
        ),
        LiveSource("gpuhunt", (), _gpuhunt, "the library's catalogue: pip install caudal[gpuhunt]"),
    )
}


def _needed(variable: str, source: str) -> Key:
    found = find_setting(variable)
    if found is None:
        raise MissingKeyError(
            f"{LIST_FORMATS[source].title} needs {variable}, which is not set.",
            remedy=f"Export {variable}, or write it into {keys_file()}.",
        )
    return found


def _address(variable: str, usual: str) -> str:
    return os.environ.get(variable) or usual


def _bearer(key: Key) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.reveal()}"}
