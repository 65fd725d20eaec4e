"""`/gpus`: the catalogue of GPUs, one of them in full, or some side by side."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from caudal.documents.gpus import GpuDocument, list_gpus, show_gpus
from caudal.facts.gpus import GpuSort
from caudal.http.openapi import answers
from caudal.http.parameters import LONGEST_TEXT, Bandwidth, Name, Names, Parameters, Size
from caudal.http.reply import Keep, respond
from caudal.http.services import services_of
from caudal.http.settings import API
from caudal.http.work import Rendered

router = APIRouter(prefix=API, tags=["facts"])


class GpuFilters(Parameters):
    """Which GPUs to list."""

    fp8: bool = Field(default=False, description="Only those that multiply FP8 natively.")
    fp4: bool = Field(default=False, description="Only those that multiply FP4 natively.")
    bf16: bool = Field(default=False, description="Only those that multiply BF16 natively.")
    fast_link: bool = Field(default=False, description="Only with a link faster than PCIe.")
    min_memory: Size | None = None
    min_bandwidth: Bandwidth | None = None
    vendor: Name | None = Field(default=None, examples=["nvidia"])
    architecture: Name | None = Field(default=None, examples=["hopper"])
    sort: GpuSort = Field(default=GpuSort.MEMORY, description="Order, largest first.")


class GpuNames(Parameters):
    """Which GPUs to lay side by side."""

    gpu: Names = Field(min_length=1, examples=[["L40S", "A100-80GB"]])


@router.get("/gpus", **answers("gpus list", GpuDocument, 404, 409, 503))
async def get_gpus(request: Request, filters: Annotated[GpuFilters, Query()]) -> Response:
    """List the GPUs that have what is asked for."""

    def look() -> Rendered:
        document = list_gpus(
            fp8=filters.fp8,
            fp4=filters.fp4,
            bf16=filters.bf16,
            fast_link=filters.fast_link,
            min_memory=filters.min_memory,
            min_bandwidth=filters.min_bandwidth,
            vendor=filters.vendor,
            architecture=filters.architecture,
            sort=filters.sort,
        )
        return Rendered.of("gpus list", document)

    key = ("gpus list", filters.model_dump_json())
    answer = await services_of(request).workshop.answer(key, look)
    return respond(request, answer, Keep.FACTS)


@router.get("/gpus/{gpu}", **answers("gpus show", GpuDocument, 404, 503))
async def get_gpu(
    request: Request,
    gpu: Annotated[str, Path(max_length=LONGEST_TEXT, examples=["H100"])],
) -> Response:
    """Show all that is known about a GPU; a name with several variants brings all of them."""
    answer = await services_of(request).workshop.answer(
        ("gpus show", gpu), lambda: Rendered.of("gpus show", show_gpus([gpu]))
    )
    return respond(request, answer, Keep.FACTS)


@router.get("/compare", **answers("gpus compare", GpuDocument, 404, 503))
async def compare_gpus(request: Request, asked: Annotated[GpuNames, Query()]) -> Response:
    """Lay GPUs side by side."""
    answer = await services_of(request).workshop.answer(
        ("gpus compare", *asked.gpu), lambda: Rendered.of("gpus compare", show_gpus(asked.gpu))
    )
    return respond(request, answer, Keep.FACTS)
