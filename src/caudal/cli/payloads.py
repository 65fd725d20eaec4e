"""Which value each command prints with `--json`: what the schemas are drawn from."""

from caudal.cli.accuracy import MemoryAccuracyDocument
from caudal.cli.accuracy_speed import SpeedAccuracyDocument
from caudal.cli.offers_import import ImportDocument
from caudal.cli.offers_sources import RefreshDocument, SourcesDocument
from caudal.documents.budget import BudgetDocument
from caudal.documents.fit import FitDocument
from caudal.documents.fit_log import FitLogDocument
from caudal.documents.gpus import GpuDocument
from caudal.documents.models import ModelDocument, ModelListDocument
from caudal.documents.offers import OfferDocument
from caudal.documents.offers_history import HistoryDocument
from caudal.documents.plan import PlanDocument
from caudal.documents.simulation import CapacityDocument, SimulateDocument
from caudal.documents.speed import SpeedDocument

PAYLOADS: dict[str, type] = {
    "plan": PlanDocument,
    "budget": BudgetDocument,
    "fit": FitDocument,
    "fit log": FitLogDocument,
    "speed": SpeedDocument,
    "simulate": SimulateDocument,
    "capacity": CapacityDocument,
    "gpus list": GpuDocument,
    "gpus show": GpuDocument,
    "gpus compare": GpuDocument,
    "models list": ModelListDocument,
    "models show": ModelDocument,
    "offers": OfferDocument,
    "offers history": HistoryDocument,
    "offers import": ImportDocument,
    "offers refresh": RefreshDocument,
    "offers sources": SourcesDocument,
    "accuracy memory": MemoryAccuracyDocument,
    "accuracy speed": SpeedAccuracyDocument,
}
