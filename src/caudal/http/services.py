"""What all routes and pages of one server share: settings, threads, kept answers, the offers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from starlette.requests import Request

from caudal.documents.clock import today
from caudal.documents.served_models import ServedModels
from caudal.facts.model import ModelSpec
from caudal.http.database import database_state
from caudal.http.jobs import Jobs
from caudal.http.settings import ServerSettings
from caudal.http.streams import Streams
from caudal.http.work import Workshop
from caudal.offers.book import OfferBook
from caudal.offers.known import known_offers

NEWS_EVERY_SECONDS: Final = 30  # chosen: a look at a file's date a client


@dataclass(frozen=True, kw_only=True)
class Services:
    """The one value that a request finds in `app.state.services`."""

    settings: ServerSettings
    workshop: Workshop
    models: ServedModels
    jobs: Jobs = field(default_factory=Jobs)
    streams: Streams = field(default_factory=Streams)
    clock: Callable[[], date] = today

    @classmethod
    def of(cls, settings: ServerSettings, *, clock: Callable[[], date] = today) -> "Services":
        """Return the services of a server with these settings."""
        return cls(
            settings=settings,
            workshop=Workshop(
                workers=settings.workers,
                most_waiting=settings.most_waiting,
                most_seconds=settings.most_seconds,
            ),
            models=ServedModels(allow_local=settings.allow_local, ask_hub=settings.ask_hub),
            clock=clock,
        )

    def book(self) -> OfferBook:
        """Return every offer known today.

        Raises:
            DatabaseUnavailableError: the database is named and cannot be read.
        """
        return known_offers(today=self.clock(), database=self.settings.database)

    def prices(self) -> Hashable:
        """Return what belongs into the key of an answer about prices: the day and the database."""
        return (self.clock(), database_state(self.settings.database))

    async def news(self) -> AsyncIterator[tuple[str, object]]:
        """Yield `prices` with the day, now and whenever the offers have changed."""
        before: Hashable = None
        while True:
            now = self.prices()
            if now != before:
                yield "prices", self.clock()
            before = now
            await asyncio.sleep(NEWS_EVERY_SECONDS)

    def close(self) -> None:
        """Stop jobs and threads, and end all streams."""
        self.streams.close()
        self.jobs.close()
        self.workshop.close()

    def model(self, name: str) -> ModelSpec:
        """Return the model of a name that a request may use; see `ServedModels`."""
        return self.models.named(name)

    def warm(self) -> None:
        """Read the catalogues, the offers and the calibration before the first request."""
        from caudal.http.warm import ask_once  # noqa: PLC0415  # loads numpy and every room

        ask_once(today=self.clock(), database=self.settings.database)


def services_of(request: Request) -> Services:
    """Return the services of the server that handles `request`."""
    services = request.app.state.services
    assert isinstance(services, Services), "the app was made by create_app"
    return services
