"""One question of each kind before the first client asks, so that no one waits for imports."""

from typing import TYPE_CHECKING, Final

from caudal.documents.fit import FitAsked, answer_fit_question
from caudal.documents.plan import PlanAsked, answer_plan
from caudal.plan.question import Traffic
from caudal.vocabulary.units import RequestsPerSecond

if TYPE_CHECKING:
    from caudal.http.services import Services

SMALL_MODEL: Final = "llama-3.1-8b"


def ask_once(services: "Services") -> None:
    """Read what every later question needs: catalogues, engines, calibration, offers."""
    model = services.model(SMALL_MODEL)
    answer_fit_question(FitAsked(model=model, gpus=("H100",)))
    asked = PlanAsked(model=model, traffic=Traffic(rate=RequestsPerSecond(1.0)))
    answer_plan(asked, book=services.book(), today=services.clock())
