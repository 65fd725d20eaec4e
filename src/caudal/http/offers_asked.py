"""Which offers a question may take: the parameters that `plan` and `offers` share."""

from pydantic import Field

from caudal.documents.offers import offer_query
from caudal.http.parameters import MOST_NAMES, AgeDays, HourlyPrice, Names, Parameters
from caudal.offers.offer import Term
from caudal.offers.query import OfferQuery


class OfferParameters(Parameters):
    """Filters over offers."""

    region: Names = Field(
        default=[], description="us, eu, asia, a country, a provider's region.", examples=[["eu"]]
    )
    provider: Names = Field(default=[], description="Only from these.")
    without_provider: Names = Field(default=[], description="Not from these.")
    term: list[Term] = Field(default=[], max_length=MOST_NAMES, description="Only on these.")
    max_price: HourlyPrice | None = None
    max_gpu_price: HourlyPrice | None = None
    max_price_age: AgeDays | None = None

    def query(self) -> OfferQuery:
        """Return the query for any GPU."""
        return offer_query(
            regions=tuple(self.region),
            providers=tuple(self.provider),
            without=tuple(self.without_provider),
            terms=tuple(term.value for term in self.term),
            max_price=self.max_price,
            max_gpu_price=self.max_gpu_price,
            max_price_age=self.max_price_age,
        )
