"""The API keeps to its own description, whatever is asked (a short run; `make schemathesis`)."""

import os
from datetime import date
from typing import Final

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from caudal.http.app import create_app
from caudal.http.settings import ServerSettings

EXAMPLES: Final = int(os.environ.get("CAUDAL_SCHEMATHESIS_EXAMPLES", "2"))
APP = create_app(
    ServerSettings(host_names=(), rate_per_client=None), clock=lambda: date(2026, 11, 30)
)
# /events never ends, and the client waits ten seconds for its end.
LEFT_OUT: Final = "/events$" if EXAMPLES >= 10 else "/events$|/figures/"
SCHEMA = schemathesis.openapi.from_asgi("/api/v1/openapi.json", APP).exclude(path_regex=LEFT_OUT)
if EXAMPLES < 10:
    SCHEMA = SCHEMA.exclude(method="POST", path="/api/v1/budget")
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 10,  # the long run looks elsewhere each time
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_one_that_is_described(
    case: schemathesis.Case,  # type: ignore[type-arg]  # of any operation
) -> None:
    case.call_and_validate(checks=list(CHECKS))
