"""What is known of GPUs: the catalogue as a list, one in full, or some side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from caudal.facts.gpu import GpuSpec
from caudal.facts.gpus import GpuSort, gpu_catalogue, select_gpus
from caudal.vocabulary.errors import InfeasibleError, UnknownNameError
from caudal.vocabulary.units import Bytes, BytesPerSecond


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDocument:
    """The JSON of all three: the GPUs in the order printed."""

    gpus: tuple[GpuSpec, ...]
    notes: tuple[str, ...] = ()


def list_gpus(
    *,
    fp8: bool = False,
    fp4: bool = False,
    bf16: bool = False,
    fast_link: bool = False,
    min_memory: Bytes | None = None,
    min_bandwidth: BytesPerSecond | None = None,
    vendor: str | None = None,
    architecture: str | None = None,
    sort: GpuSort = GpuSort.MEMORY,
) -> GpuDocument:
    """Return the GPUs that have what is asked for.

    Raises:
        UnknownNameError: no GPU is of that vendor or architecture.
        InfeasibleError: no GPU has it all.
    """
    everything = gpu_catalogue().all
    _check_known("vendor", vendor, {gpu.vendor for gpu in everything})
    _check_known("architecture", architecture, {gpu.architecture for gpu in everything})
    found = select_gpus(
        everything,
        native_fp8=fp8 or None,
        native_fp4=fp4 or None,
        native_bf16=bf16 or None,
        fast_link=fast_link or None,
        min_memory=min_memory,
        min_bandwidth=min_bandwidth,
        vendor=vendor,
        architecture=architecture,
        sort=sort,
    )
    if not found:
        raise InfeasibleError(
            f"None of {len(everything)} GPUs has all that is asked for.",
            remedy="Leave out one of the filters.",
        )
    return GpuDocument(gpus=found)


def show_gpus(names: Sequence[str]) -> GpuDocument:
    """Return the GPUs of these names, each once; a name with several variants brings all.

    Raises:
        UnknownGpuError: no GPU is called so.
    """
    choices = [gpu_catalogue().resolve(name) for name in names]
    specs = {spec.id: spec for choice in choices for spec in choice.specs}
    notes = dict.fromkeys(choice.note for choice in choices if choice.note)
    return GpuDocument(gpus=tuple(specs.values()), notes=tuple(notes))


def _check_known(what: str, name: str | None, known: set[str]) -> None:
    if name is not None and name.casefold() not in {item.casefold() for item in known}:
        hint = f"Known: {', '.join(sorted(known))}."
        raise UnknownNameError(name, known=known, hint=f"--{what} is a name from the list. {hint}")
