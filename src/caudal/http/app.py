"""The application: routes, the guard around them, and what an error looks like."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import date
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from caudal import __version__
from caudal.documents.clock import today
from caudal.http.failures import (
    HttpFailure,
    MalformedRequestError,
    ServerFaultError,
    UnknownRouteError,
    WrongMethodError,
    failure_of,
    failure_response,
)
from caudal.http.guard import Guard, Refuse
from caudal.http.openapi import describe, parameter_names
from caudal.http.routes import (
    budget,
    figures,
    fit,
    gpus,
    health,
    jobs,
    models,
    offers,
    plan,
    simulate,
    speed,
    uploads,
)
from caudal.http.services import Services
from caudal.http.settings import API, ServerSettings
from caudal.http.validation import failure_of_validation
from caudal.vocabulary.errors import CaudalError, nearest_names

ROUTES: Final = (
    *(gpus, uploads, models, offers),
    *(fit, speed, plan, budget, figures),
    *(simulate, jobs, health),
)


def create_app(
    settings: ServerSettings | None = None,
    *,
    clock: Callable[[], date] = today,
    page_failure: Refuse | None = None,
) -> FastAPI:
    """Return a server's application; its `state.services` is what routes and pages share.

    `page_failure` draws errors for paths outside the API; without it they are JSON as well.
    """
    chosen = settings or ServerSettings()
    services = Services.of(chosen, clock=clock)
    app = FastAPI(
        title="Caudal",
        version=__version__,
        openapi_url=None,  # ours is at /api/v1/openapi.json
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(services),
    )
    app.state.services = services

    def told(request: Request, failure: HttpFailure) -> Response:
        if page_failure is None or request.url.path.startswith("/api/"):
            return failure_response(failure)
        return page_failure(request, failure)

    for noun in ROUTES:
        app.include_router(noun.router)
    _tell_errors(app, told)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    if chosen.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=chosen.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["content-type"],
            expose_headers=["etag", "retry-after"],
            max_age=3600,
        )
    app.add_middleware(Guard, settings=chosen, refuse=told)
    describe(app)
    return app


def _lifespan(services: Services) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(services.warm)
        yield
        services.close()

    return lifespan


def _tell_errors(app: FastAPI, told: Refuse) -> None:
    def of_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, CaudalError)
        return told(request, failure_of(error))

    def of_values(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return told(request, failure_of_validation(error, known=parameter_names(request)))

    def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return told(request, _failure_of_http(request, error))

    def of_mistakes(request: Request, _: Exception) -> Response:
        return told(request, failure_of(ServerFaultError()))

    app.add_exception_handler(CaudalError, of_ours)
    app.add_exception_handler(RequestValidationError, of_values)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, of_mistakes)


def _failure_of_http(request: Request, error: HTTPException) -> HttpFailure:
    """Return what to tell where no route answers, or the router itself refuses."""
    path = request.url.path
    match error.status_code:
        case 404:
            near = nearest_names(path, _paths(request), most=3)
            remedy = f"Did you mean {' or '.join(near)}?" if near else f"See {API}/openapi.json."
            return failure_of(UnknownRouteError(f"Nothing is served at {path}.", remedy=remedy))
        case 405:
            allowed = (error.headers or {}).get("Allow", "GET")
            failure = failure_of(
                WrongMethodError(f"{path} has no {request.method}.", remedy=f"Use {allowed}.")
            )
            return replace(failure, headers={"Allow": allowed})
    phrase = HTTPStatus(error.status_code).phrase
    failure = failure_of(
        MalformedRequestError(f"The request cannot be read: {phrase}.", remedy="Check its form.")
    )
    return replace(failure, status=error.status_code)


def _paths(request: Request) -> list[str]:
    return list(request.app.openapi()["paths"])
