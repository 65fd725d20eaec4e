"""How a question names its model."""

from pydantic import Field

from caudal.documents.models import check_one_model
from caudal.facts.model import ModelSpec
from caudal.facts.models import assumed_model
from caudal.http.parameters import LONGEST_TEXT, Amount, Parameters
from caudal.http.services import Services


class ModelParameters(Parameters):
    """A model by name, or by its size alone."""

    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_TEXT,
        description="A short name, a hub id, or what an upload was called.",
        examples=["llama-3.1-70b"],
    )
    params: Amount | None = None

    def chosen(self, services: Services) -> ModelSpec:
        """Return the model that is meant.

        Raises:
            ContradictoryOptionsError: both ways are used, or none.
            UnknownModelError: see `ServedModels.named`.
        """
        check_one_model(self.model, self.params)
        if self.params is not None:
            return assumed_model(self.params)
        assert self.model is not None, "one of the two is given"
        return services.model(self.model)
