"""The whole site: the API's application with the pages in front."""

from collections.abc import Callable
from datetime import date

from fastapi import FastAPI

from caudal.documents.clock import today
from caudal.http.app import create_app
from caudal.http.settings import ServerSettings


def create_site(
    settings: ServerSettings | None = None, *, clock: Callable[[], date] = today
) -> FastAPI:
    """Return the application that `caudal serve` runs."""
    return create_app(settings, clock=clock)
