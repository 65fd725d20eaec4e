"""Whether a server is up, what it holds, and which release it is."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthDocument:
    """A server that answers, and how much it knows."""

    status: str  # "ok": a server that is not does not answer
    today: date
    gpus: int
    models: int
    offers: int
    last_seen: date | None  # the day of the newest price


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDocument:
    """The release, and the version of the API."""

    version: str
    api: str
