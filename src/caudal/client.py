"""A typed client of the HTTP API: the documents as values, the errors as the rooms raise them.

    client = Client("http://127.0.0.1:8722")
    plan = client.plan("llama-3.1-70b", rate="5/s", ttft_p95="1s")
    print(plan.rows[0].price.usd_per_month)

Quantities are written as on the command line, or given as numbers in base units. A question that
was understood and has no answer returns its document, whose `error` says why; every other error
is raised, as the class that its code names.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import IO, Final, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen
from uuid import uuid4

from caudal import __version__
from caudal.documents.budget import BudgetDocument
from caudal.documents.failure import ErrorBody
from caudal.documents.fit import FitDocument
from caudal.documents.gpus import GpuDocument
from caudal.documents.health import HealthDocument, VersionDocument
from caudal.documents.jobs import JobDocument
from caudal.documents.models import ModelDocument, ModelListDocument
from caudal.documents.offers import OfferDocument
from caudal.documents.offers_history import HistoryDocument
from caudal.documents.plan import PlanDocument
from caudal.documents.reading import UnreadableDocumentError, read_document
from caudal.documents.simulation import CapacityDocument, SimulateDocument
from caudal.documents.speed import SpeedDocument
from caudal.documents.values import Json
from caudal.vocabulary.errors import CaudalError, InvalidInputError, UnavailableError

Written = str | int | float | Decimal  # "8k", "500ms", or a number in base units
Document = TypeVar("Document")
TIMEOUT_SECONDS: Final = 30.0  # chosen: longer than a server lets anyone wait
UPLOAD_MOST_BYTES: Final = 32 * 2**20  # what a server reads of a file


class ServerUnreachableError(UnavailableError):
    """No server of Caudal answers at this address."""

    code = "server-unreachable"


def _quiet(_: JobDocument) -> None:
    """Tell nobody of progress."""


class Client:
    """One server; every method asks one question and returns its document."""

    def __init__(
        self, url: str = "http://127.0.0.1:8722", *, timeout_s: float = TIMEOUT_SECONDS
    ) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InvalidInputError(
                f"{url!r} is no address of a server.", remedy="Write http://127.0.0.1:8722."
            )
        self._base = f"{url.rstrip('/')}/api/v1"
        self._timeout_s = timeout_s

    def health(self) -> HealthDocument:
        """Return whether the server is up, and how much it knows."""
        return self._get(HealthDocument, "/health")

    def version(self) -> VersionDocument:
        """Return which release the server is."""
        return self._get(VersionDocument, "/version")

    def gpus(
        self,
        *,
        fp8: bool = False,
        fp4: bool = False,
        bf16: bool = False,
        fast_link: bool = False,
        min_memory: Written | None = None,
        min_bandwidth: Written | None = None,
        vendor: str | None = None,
        architecture: str | None = None,
        sort: str | None = None,
    ) -> GpuDocument:
        """Return the GPUs that have what is asked for."""
        filters = {
            "fp8": fp8,
            "fp4": fp4,
            "bf16": bf16,
            "fast_link": fast_link,
            "min_memory": min_memory,
            "min_bandwidth": min_bandwidth,
            "vendor": vendor,
            "architecture": architecture,
            "sort": sort,
        }
        return self._get(GpuDocument, "/gpus", filters)

    def gpu(self, name: str) -> GpuDocument:
        """Return all variants of one GPU."""
        return self._get(GpuDocument, f"/gpus/{quote(name, safe='')}")

    def compare(self, *names: str) -> GpuDocument:
        """Return some GPUs side by side."""
        return self._get(GpuDocument, "/compare", {"gpu": names})

    def models(self, *, family: str = "", max_params: Written | None = None) -> ModelListDocument:
        """Return the models of the catalogue that pass."""
        return self._get(ModelListDocument, "/models", {"family": family, "max_params": max_params})

    def model(self, name: str) -> ModelDocument:
        """Return all that is known of one model."""
        return self._get(ModelDocument, f"/models/{quote(name)}")

    def upload(self, path: Path) -> ModelDocument:
        """Send a config.json, or the beginning of a GGUF file; its id then names the model."""
        with path.open("rb") as stream:
            content = stream.read(UPLOAD_MOST_BYTES)
        boundary = uuid4().hex
        parts = [
            _part(boundary, 'name="file_bytes"', str(path.stat().st_size).encode()),
            _part(boundary, f'name="file"; filename="{quote(path.name)}"', content),
            f"--{boundary}--\r\n".encode(),
        ]
        kind = f"multipart/form-data; boundary={boundary}"
        return read_document(ModelDocument, self._send("/models/uploads", b"".join(parts), kind))

    def offers(
        self,
        *,
        gpu: Sequence[str] = (),
        region: Sequence[str] = (),
        provider: Sequence[str] = (),
        without_provider: Sequence[str] = (),
        term: Sequence[str] = (),
        max_price: Written | None = None,
        max_gpu_price: Written | None = None,
        max_price_age: Written | None = None,
        in_stock: bool = False,
        top: int | None = None,
    ) -> OfferDocument:
        """Return what can be rented, cheapest first."""
        filters = {
            "gpu": gpu,
            "region": region,
            "provider": provider,
            "term": term,
            "top": top,
            "without_provider": without_provider,
            "in_stock": in_stock,
            "max_price": max_price,
            "max_gpu_price": max_gpu_price,
            "max_price_age": max_price_age,
        }
        return self._get(OfferDocument, "/offers", filters)

    def fit(
        self,
        model: str | None = None,
        *,
        params: Written | None = None,
        gpu: Sequence[str] = (),
        precision: str = "native",
        kv_precision: str | None = None,
        context: Written | None = None,
        concurrency: int = 1,
        engine: str = "vllm",
        tp: int | None = None,
        pp: int | None = None,
        eager: bool = False,
        free: Written | None = None,
    ) -> FitDocument:
        """Return whether a model fits on each GPU; `error` is set where it surely fits on none."""
        asked = {
            "model": model,
            "params": params,
            "gpu": gpu,
            "precision": precision,
            "kv_precision": kv_precision,
            "context": context,
            "concurrency": concurrency,
            "engine": engine,
            "tp": tp,
            "pp": pp,
            "eager": eager,
            "free": free,
        }
        return self._post(FitDocument, "/fit", asked)

    def speed(
        self, model: str | None = None, **asked: Written | Sequence[str] | None
    ) -> SpeedDocument:
        """Return how fast a model runs on each GPU; `error` is set where it surely fits on none.

        `asked` are the parameters of `/api/v1/speed`: gpu, precision, tp, input, output, batch …
        """
        return self._post(SpeedDocument, "/speed", {"model": model, **asked})

    def plan(
        self, model: str | None = None, **asked: Written | Sequence[str] | None
    ) -> PlanDocument:
        """Return the cheapest ways to serve; `error` is set where nothing serves.

        `asked` are the parameters of `/api/v1/plan`: rate, users, input, output, ttft_p95, gpu …
        """
        return self._post(PlanDocument, "/plan", {"model": model, **asked})

    def budget(
        self, model: str | None = None, **asked: Written | Sequence[str] | None
    ) -> BudgetDocument:
        """Return what a deployment will cost, what moves that, and what to do instead.

        `asked` are the parameters of `/api/v1/budget`.
        """
        return self._post(BudgetDocument, "/budget", {"model": model, **asked})

    def history(
        self, gpu: str, *, region: Sequence[str] = (), term: Sequence[str] = ()
    ) -> HistoryDocument:
        """Return what a GPU has cost over time."""
        asked = {"gpu": gpu, "region": region, "term": term}
        return self._get(HistoryDocument, "/offers/history", asked)

    def simulate(
        self, scenario: Mapping[str, object], *, on_progress: Callable[[JobDocument], None] = _quiet
    ) -> SimulateDocument:
        """Run a scenario, which has the fields of a scenario file; wait for a long run's end."""
        return read_document(SimulateDocument, self._run("/simulate", scenario, on_progress))

    def capacity(
        self, scenario: Mapping[str, object], *, on_progress: Callable[[JobDocument], None] = _quiet
    ) -> CapacityDocument:
        """Return the most that a scenario's deployment carries within its SLO."""
        return read_document(CapacityDocument, self._run("/capacity", scenario, on_progress))

    def _run(
        self, path: str, scenario: Mapping[str, object], on_progress: Callable[[JobDocument], None]
    ) -> dict[str, Json]:
        """Return the document of a run; follow the events of its job where it becomes one.

        Raises:
            CaudalError: the run failed, or someone stopped it.
        """
        body = json.dumps(scenario, default=str).encode()
        document = self._send(path, body, "application/json")
        if document["command"] != "job":
            return document
        job = read_document(JobDocument, document)
        with self._open(f"/jobs/{job.id}/events") as events:
            for line in events:
                if line.startswith(b"data: "):
                    on_progress(read_document(JobDocument, _object(line.removeprefix(b"data: "))))
        return self._send(f"/jobs/{job.id}/answer")

    def _get(
        self, kind: type[Document], path: str, asked: Mapping[str, object] | None = None
    ) -> Document:
        query = urlencode(_given(asked or {}), doseq=True)
        return read_document(kind, self._send(f"{path}{'?' if query else ''}{query}"))

    def _post(self, kind: type[Document], path: str, asked: Mapping[str, object]) -> Document:
        body = json.dumps(_given(asked), default=str).encode()
        return read_document(kind, self._send(path, body, "application/json"))

    def _send(
        self, path: str, body: bytes | None = None, content_type: str = ""
    ) -> dict[str, Json]:
        with self._open(path, body, content_type) as response:
            return _object(response.read())

    @contextmanager
    def _open(
        self, path: str, body: bytes | None = None, content_type: str = ""
    ) -> Iterator[IO[bytes]]:
        headers = {"User-Agent": f"caudal/{__version__}"}
        headers |= {"Content-Type": content_type} if body is not None else {}
        request = Request(self._base + path, body, headers)  # noqa: S310  # HTTP: see __init__
        try:
            with urlopen(request, timeout=self._timeout_s) as response:  # noqa: S310  # the same
                yield response
        except HTTPError as refusal:
            with refusal:
                raw = refusal.read()
            if len(_object(raw)) == 1:
                raise _error_of(_object(raw)) from None
            yield BytesIO(raw)  # an answer that says why there is none
        except (URLError, TimeoutError, ConnectionError) as problem:
            reason = getattr(problem, "reason", None) or problem
            raise ServerUnreachableError(
                f"No answer from {self._base}: {reason}.",
                remedy="Start it with caudal serve, or name its address.",
            ) from None


def _given(asked: Mapping[str, object]) -> dict[str, object]:
    """Return what was said, in forms that a query and JSON have."""
    given: dict[str, object] = {}
    for name, value in asked.items():
        if value is None or value is False or value in ("", (), []):
            continue
        if value is True:
            given[name] = "true"
        elif isinstance(value, str | int | float | Decimal):
            given[name] = value
        else:
            assert isinstance(value, Sequence), f"{name} should be a name or several"
            given[name] = list(value)
    return given


def _part(boundary: str, disposition: str, content: bytes) -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def _object(raw: bytes) -> dict[str, Json]:
    try:
        document = json.loads(raw)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise UnreadableDocumentError("it is no JSON object")
    return document


def _error_of(document: Mapping[str, Json]) -> CaudalError:
    """Return the error that a document tells, of the class that its code names."""
    body = document.get("error")
    if not isinstance(body, dict):
        raise UnreadableDocumentError("it is no error")
    told = read_document(ErrorBody, body)
    kind = _classes().get(told.code, CaudalError)
    error = kind.__new__(kind)
    where = f"{told.where}: " if told.where and told.where not in told.problem else ""
    CaudalError.__init__(error, f"{where}{told.problem}", remedy=told.remedy)
    return error


def _classes() -> dict[str, type[CaudalError]]:
    found: dict[str, type[CaudalError]] = {}
    waiting: list[type[CaudalError]] = [CaudalError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind
        waiting += kind.__subclasses__()
    return found
