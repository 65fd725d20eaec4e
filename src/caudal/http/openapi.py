"""The OpenAPI 3.1 description: parameters from the routes, bodies from the documents' own types."""

import json
from collections.abc import Mapping
from typing import Final, TypedDict

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from caudal.documents.schema import document_schema, error_schema
from caudal.documents.values import Json
from caudal.http.failures import MEANINGS
from caudal.http.settings import API

DESCRIPTION: Final = """Which GPU for this model and this traffic, what it costs, where to rent it.

The documents are those that `caudal … --json` prints. Quantities in a query are written as on the
command line (`8k`, `500ms`, `5/s`, `$25/h`); numbers in a JSON body are in base units. Every error
has one shape: `{"error": {"code", "problem", "remedy", "where"}}`. An infeasible question answers
409 with its whole document, whose `error` says why."""
ERROR_EXAMPLE: Final[Json] = {
    "error": {
        "code": "unknown-gpu",
        "problem": "Unknown GPU 'h1000'.",
        "remedy": "Did you mean h100? List all with: caudal gpus.",
        "where": "gpu",
    }
}
ALWAYS: Final = (400, 403, 413, 422, 429, 500)
_documents: dict[str, tuple[str, type]] = {}


Descriptions = dict[int | str, dict[str, object]]


class RouteAnswers(TypedDict):
    """What a route's decorator is told about answers."""

    response_model: None
    responses: Descriptions


def document_answer(status: int, command: str, payload: type) -> Descriptions:
    """Return the description of one status whose body is the document of `payload`."""
    name = "".join(word.capitalize() for word in command.split())
    _documents[name] = (command, payload)
    return {status: _content(name, (payload.__doc__ or "").split("\n", maxsplit=1)[0])}


def answers(
    command: str,
    payload: type,
    *statuses: int,
    infeasible: bool = False,
    success: int = 200,
    more: Descriptions | None = None,
) -> RouteAnswers:
    """Return the answers of a route: the document of `payload`, and errors of these statuses.

    `infeasible`: the route answers 409 with its whole document.
    """
    found = document_answer(success, command, payload)
    found |= error_answers(*ALWAYS, *statuses)
    if infeasible:
        found[409] = found[success] | {"description": MEANINGS[409]}
    found |= more or {}
    return {"response_model": None, "responses": found}


def error_answers(*statuses: int) -> Descriptions:
    """Return the description of these errors."""
    return {status: _error(status) for status in sorted(set(statuses))}


def describe(app: FastAPI) -> None:
    """Give the application its description and the route that serves it."""

    def made() -> dict[str, object]:
        if app.openapi_schema is None:
            app.openapi_schema = _description(app)
        return app.openapi_schema

    async def served(_: Request) -> Response:
        return JSONResponse(made(), headers={"Cache-Control": "public, max-age=3600"})

    app.openapi = made  # type: ignore[method-assign]
    app.add_route(f"{API}/openapi.json", served, include_in_schema=False)


def parameter_names(request: Request) -> tuple[str, ...]:
    """Return what the route of this request takes, by the description."""
    route = request.scope.get("route")
    operations = request.app.openapi()["paths"].get(getattr(route, "path", ""), {})
    operation = operations.get(request.method.lower(), {})
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"].get("application/json", {}).get("schema", {})
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        body = request.app.openapi()["components"]["schemas"].get(name, {})
        return tuple(body.get("properties", {}))
    return tuple(item["name"] for item in operation.get("parameters", []))


def _description(app: FastAPI) -> dict[str, object]:
    made = get_openapi(
        title="Caudal",
        version=app.version,
        description=DESCRIPTION,
        routes=app.routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    schemas = made.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.update(_document_schemas())
    made["paths"] = {path: made["paths"][path] for path in sorted(made["paths"])}
    return made


def _document_schemas() -> dict[str, Json]:
    """Return every document and the objects in it, by the name that references use."""
    error = error_schema()
    error.pop("$schema")
    found: dict[str, Json] = {"Error": error}
    for name, (command, payload) in sorted(_documents.items()):
        schema = document_schema(command, payload)
        schema.pop("$schema")
        definitions = schema.pop("$defs")
        assert isinstance(definitions, dict), "a document schema has $defs"
        for inner, definition in {**definitions, name: schema}.items():
            known = found.setdefault(inner, definition)
            assert known == definition, f"two objects of the documents are called {inner}"
    text = json.dumps(found).replace('"#/$defs/', '"#/components/schemas/')
    schemas: dict[str, Json] = json.loads(text)
    return schemas


def _content(name: str, description: str) -> dict[str, object]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _error(status: int) -> dict[str, object]:
    media: Mapping[str, object] = {
        "schema": {"$ref": "#/components/schemas/Error"},
        "example": ERROR_EXAMPLE,
    }
    return {"description": MEANINGS[status], "content": {"application/json": media}}
