"""One module a page: from the address to a view model and its template."""

from collections.abc import Callable, Mapping
from typing import Final

from caudal.web.page import Page, Shown
from caudal.web.pages.cost import show_cost
from caudal.web.pages.fit import show_fit
from caudal.web.pages.gpus import show_compared, show_gpu, show_gpus
from caudal.web.pages.home import show_home
from caudal.web.pages.load import show_load
from caudal.web.pages.models import show_model, show_models
from caudal.web.pages.numbers import show_numbers
from caudal.web.pages.offers import show_offers
from caudal.web.pages.workloads import (
    show_fine_tuning,
    show_images,
    show_rendering,
    show_science,
    show_training,
    show_workloads,
)

PAGES: Final[Mapping[str, Callable[[Page], Shown]]] = {
    "/": show_home,
    "/gpus": show_gpus,
    "/gpus/compare": show_compared,
    "/gpus/{gpu}": show_gpu,
    "/fit": show_fit,
    "/cost": show_cost,
    "/load": show_load,
    "/offers": show_offers,
    "/numbers": show_numbers,
    "/workloads": show_workloads,
    "/workloads/training": show_training,
    "/workloads/fine-tuning": show_fine_tuning,
    "/workloads/images": show_images,
    "/workloads/rendering": show_rendering,
    "/workloads/science": show_science,
    "/models": show_models,
    "/models/{name:path}": show_model,
}
