"""The whole site: the API's application with the pages in front."""

from collections.abc import Callable, Sequence
from datetime import date
from hashlib import blake2b
from typing import Final
from urllib.parse import urlencode

from fastapi import FastAPI
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from caudal.documents.clock import today
from caudal.facts.readers.upload import GGUF_MOST_BYTES, model_from_upload
from caudal.http.app import create_app
from caudal.http.failures import (
    BodyTooLargeError,
    HttpFailure,
    MalformedRequestError,
    failure_of,
)
from caudal.http.guard import UPLOAD_PAGE
from caudal.http.services import services_of
from caudal.http.settings import ServerSettings
from caudal.http.work import Rendered
from caudal.vocabulary.errors import CaudalError
from caudal.web.asking import EXAMPLE
from caudal.web.drawing import TYPES, draw, static_files
from caudal.web.languages import chosen_language
from caudal.web.page import THEMES, Page, Shown, failure_shown
from caudal.web.pages import PAGES

YEAR_SECONDS: Final = 31_536_000
MOST_PARAMETERS: Final = 100  # chosen: a question has some forty
LANGUAGE_COOKIE: Final = "lang"
THEME_COOKIE: Final = "theme"
# What is asked of an uploaded model first: the traffic of the example.
UPLOAD_QUESTION: Final = {name: EXAMPLE[name] for name in EXAMPLE if name != "model"}
Show = Callable[[Page], Shown]


def create_site(
    settings: ServerSettings | None = None, *, clock: Callable[[], date] = today
) -> FastAPI:
    """Return the application that serves pages and API."""
    app = create_app(settings, clock=clock, page_failure=_failure_page)
    for path, show in PAGES.items():
        app.router.routes.append(Route(path, _endpoint(show), methods=["GET", "HEAD"]))
    app.router.routes.insert(0, Route(UPLOAD_PAGE, _upload, methods=["POST"]))
    app.router.routes.append(Route("/static/{digest}/{name}", _static, methods=["GET", "HEAD"]))
    return app


def _endpoint(show: Show) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        kept = _kept_choice(request)
        if kept is not None:
            return kept
        page = page_of(request)
        services = page.services
        key = (
            "page",
            page.path,
            tuple(page.query),
            page.language,
            page.theme,
            page.today,
            page.model_state,
        )
        drawn = await services.workshop.answer(key, lambda: _drawn(page, show))
        return _sent(request, page, drawn)

    return answer


def page_of(request: Request) -> Page:
    """Return the page that a request asks for."""
    asked = request.query_params.get("lang")
    kept = request.cookies.get(LANGUAGE_COOKIE)
    theme = request.cookies.get(THEME_COOKIE, "auto")
    return Page(
        path=request.url.path,
        query=_pairs(request.query_params.multi_items()),
        language=chosen_language(asked, kept, request.headers.get("accept-language", "")),
        theme=theme if theme in THEMES else "auto",
        services=services_of(request),
        language_in_address=asked is not None,
        paths=frozenset(PAGES),
        names={name: str(value) for name, value in request.path_params.items()},
    )


def _pairs(items: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in items[:MOST_PARAMETERS] if name != "lang")


def _kept_choice(request: Request) -> Response | None:
    """Return the redirect that keeps a chosen look, None where none was chosen."""
    theme = request.query_params.get("theme")
    if theme not in THEMES:
        return None
    address = str(request.url.remove_query_params("theme").replace(scheme="", netloc=""))
    response = RedirectResponse(address or "/", status_code=303)
    _keep(response, THEME_COOKIE, theme)
    return response


def _keep(response: Response, name: str, value: str) -> None:
    """Keep a preference in the browser: no identity, no tracking, readable by nobody else."""
    response.set_cookie(name, value, max_age=YEAR_SECONDS, samesite="lax", httponly=True, path="/")


def _drawn(page: Page, show: Show) -> Rendered:
    try:
        shown = show(page)
    except CaudalError as error:
        body, status = failure_shown(error)
        shown = Shown("failure.html", {"failure": body, "status": status}, status)
    return _rendered(draw(page, shown), shown.status)


def _rendered(body: bytes, status: int) -> Rendered:
    digest = blake2b(body, digest_size=12).hexdigest()
    return Rendered(status=status, body=body, etag=f'W/"{digest}"')


def _sent(request: Request, page: Page, drawn: Rendered) -> Response:
    headers = {
        "ETag": drawn.etag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Language, Cookie",
        "Content-Language": page.language,
    }
    if drawn.status == 200 and request.headers.get("if-none-match") == drawn.etag:
        response = Response(status_code=304, headers=headers)
    else:
        response = Response(
            drawn.body, drawn.status, headers=headers, media_type="text/html; charset=utf-8"
        )
    if page.language_in_address and request.cookies.get(LANGUAGE_COOKIE) != page.language:
        _keep(response, LANGUAGE_COOKIE, page.language)
    return response


async def _upload(request: Request) -> Response:
    """Keep the model of a file that a form sends, and go to the question about it."""
    services = services_of(request)
    try:
        async with request.form(max_files=1, max_fields=4) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                raise MalformedRequestError("No file was sent.", remedy="Choose a file first.")
            raw, name = await file.read(GGUF_MOST_BYTES + 1), file.filename
            told = form.get("file_bytes")
        size = int(told) if isinstance(told, str) and told.isascii() and told.isdigit() else None
        if len(raw) > GGUF_MOST_BYTES:
            raise BodyTooLargeError(
                f"{GGUF_MOST_BYTES:,} bytes are read of a file.",
                remedy="Send the beginning of the file: its header is what counts.",
            )
        model = await services.workshop.run(
            lambda: model_from_upload(raw, file=name, read_on=services.clock(), file_bytes=size)
        )
    except CaudalError as error:
        return _failure_page(request, failure_of(error, where="file"))
    services.models.keep(model)
    return RedirectResponse(f"/?{urlencode({'model': model.id, **UPLOAD_QUESTION})}", 303)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    body = static_files().get(name)
    if body is None:
        return Response(status_code=404)
    kind = TYPES[name[name.rfind(".") :]]
    headers = {"Cache-Control": f"public, max-age={YEAR_SECONDS}, immutable"}
    return Response(body, media_type=kind, headers=headers)


def _failure_page(request: Request, failure: HttpFailure) -> Response:
    """Return the page that tells of an error outside the pages' own work."""
    page = page_of(request)
    shown = Shown("failure.html", {"failure": failure.body, "status": failure.status})
    headers = {"Cache-Control": "no-store", **failure.headers}
    return Response(
        draw(page, shown), failure.status, headers=headers, media_type="text/html; charset=utf-8"
    )
