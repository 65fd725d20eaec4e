"""How a server is set up: where it listens, what it may read, and how much it does for one."""

from dataclasses import dataclass
from typing import Final

from caudal.vocabulary.units import RequestsPerSecond, Seconds

API: Final = "/api/v1"  # what every route begins with
PORT: Final = 8722  # chosen: free in IANA's list of services; Caudal's own
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
# Chosen: a person who drags a slider makes ten requests a second; a page loads thirty at once.
USUAL_RATE: Final = RequestsPerSecond(20.0)
BURST_SECONDS: Final = Seconds(10.0)
LONGEST_WAIT: Final = Seconds(20.0)  # chosen: a little more than a full queue of plans takes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Everything that a server is told when it starts."""

    host: str = "127.0.0.1"
    port: int = PORT
    database: str | None = None  # where imported offers are kept; None: only what is bundled
    allow_local: bool = False  # whether a model may be named by a path of this machine
    ask_hub: bool = False  # whether ids that are not in the catalogue are asked of the hub
    rate_per_client: RequestsPerSecond | None = USUAL_RATE  # None: no limit
    cors_origins: tuple[str, ...] = ()  # origins whose scripts may read the API
    host_names: tuple[str, ...] = LOOPBACK  # names a request may call us by; empty: any
    workers: int = 2  # threads that compute; two, as numbers hold Python's lock most of the time
    most_waiting: int = 32  # chosen: at 1 s a plan the last one waits 16 s, as long as one would
    most_seconds: Seconds = LONGEST_WAIT  # until a request is told to try again
