"""What a simulation cannot do."""

from caudal.vocabulary.errors import InfeasibleError, InvalidInputError


class NothingServesError(InfeasibleError):
    """Requests wait, and no replica is on or will be."""

    code = "nothing-serves"

    def __init__(self, waiting: int) -> None:
        super().__init__(
            f"{waiting:,} requests wait, and no replica is on or will be started.",
            remedy="Let an outage end, or give the autoscaler at least one replica.",
        )


class RunTooLongError(InvalidInputError):
    """The simulated time exceeds what the clock counts."""

    code = "run-too-long"

    def __init__(self) -> None:
        super().__init__(
            "The simulated time exceeds 92 days, the most that is counted to the picosecond.",
            remedy="Simulate fewer requests, or a higher rate.",
        )


class InvalidScenarioError(InvalidInputError):
    """A scenario file has a field that cannot be meant; the message names file and field."""

    code = "invalid-scenario"


class NoSpeedError(InfeasibleError):
    """The maker of a GPU publishes no rate from which a step's time follows."""

    code = "no-speed"

    def __init__(self, gpu: str) -> None:
        super().__init__(
            f"The maker of {gpu} publishes no rate from which a step's time follows.",
            remedy="Choose another GPU; caudal gpus shows which rates are known.",
        )
