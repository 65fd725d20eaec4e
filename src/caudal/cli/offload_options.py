"""Options of `caudal fit` that say what llama.cpp and Ollama put on which card."""

import click

from caudal.cli.failures import InvalidUsageError
from caudal.cli.option_groups import option_group
from caudal.fit.placement import ALL_LAYERS, Offload


def offload_of(
    *, gpu_layers: int | None, cpu_moe: bool, n_cpu_moe: int | None, tensor_split: str | None
) -> Offload:
    """Return what is to be on the cards.

    Raises:
        InvalidUsageError: shares that are no numbers, or experts asked for twice.
    """
    if cpu_moe and n_cpu_moe is not None:
        raise InvalidUsageError(
            "--cpu-moe and --n-cpu-moe exclude each other.",
            remedy="Leave one of them out: --cpu-moe means all layers.",
        )
    return Offload(
        gpu_layers=gpu_layers,
        host_expert_layers=ALL_LAYERS if cpu_moe else n_cpu_moe or 0,
        tensor_split=None if tensor_split is None else _shares(tensor_split),
    )


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.replace("/", ",").split(","))
    except ValueError:
        raise InvalidUsageError(
            f"--tensor-split {text} is no list of numbers.", remedy="Write a share a card: 3,1."
        ) from None


offload_options = option_group(
    {
        "gpu_layers": click.option(
            "--gpu-layers",
            "-ngl",
            type=click.IntRange(0, 10_000),
            metavar="N",
            help="llama.cpp: layers on the GPUs, the output layer first. Default: all.",
        ),
        "cpu_moe": click.option(
            "--cpu-moe", is_flag=True, help="llama.cpp: all experts in main memory."
        ),
        "n_cpu_moe": click.option(
            "--n-cpu-moe",
            type=click.IntRange(0, 10_000),
            metavar="N",
            help="llama.cpp: the experts of the first N layers in main memory.",
        ),
        "tensor_split": click.option(
            "--tensor-split",
            metavar="A,B",
            help="llama.cpp: shares of the cards. Default: by their free memory.",
        ),
    },
    name="offload",
    build=offload_of,
)
