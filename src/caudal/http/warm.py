"""One question of each kind before the first client asks, so that no one waits for imports."""

from datetime import date
from functools import lru_cache
from typing import Final

from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.documents.plan import PlanAsked, answer_plan
from caudal.facts.models import model_catalogue
from caudal.offers.known import known_offers
from caudal.plan.question import Traffic
from caudal.vocabulary.units import RequestsPerSecond

SMALL_MODEL: Final = "llama-3.1-8b"


@lru_cache(maxsize=1)
def ask_once(*, today: date, database: str | None) -> None:
    """Read what every later question needs: catalogues, engines, calibration, offers.

    Raises:
        DatabaseUnavailableError: the database is named and cannot be read.
    """
    catalogue = model_catalogue()
    entry = catalogue.find(SMALL_MODEL)
    assert entry is not None, f"{SMALL_MODEL} is in the catalogue"
    model = catalogue.load(entry.id)
    answer_fit_question(FitAsked(model=model, gpus=("H100",)))
    asked = PlanAsked(model=model, traffic=Traffic(rate=RequestsPerSecond(1.0)))
    answer_plan(asked, book=known_offers(today=today, database=database), today=today)
