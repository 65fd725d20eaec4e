"""How a model is spread over GPUs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One replica's split: `tensor` GPUs share each layer, `pipeline` stages share the stack."""

    tensor: int = 1
    pipeline: int = 1
    expert: bool = False  # experts spread whole over the tensor group instead of sliced

    @property
    def gpus(self) -> int:
        """Return how many GPUs one replica occupies."""
        return self.tensor * self.pipeline

    def __str__(self) -> str:
        parts = [f"TP{self.tensor}"]
        if self.pipeline > 1:
            parts.append(f"PP{self.pipeline}")
        if self.expert:
            parts.append("EP")
        return "·".join(parts)
