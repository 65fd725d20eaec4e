"""Which model a request means: of the catalogue, uploaded before, or of this machine if allowed.

A hub id is a name, never an address. Without --hub nothing is fetched for a request, without
--allow-local no path is looked at; with --hub only ids of the hub's own form are asked of the hub.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final

from caudal.facts.model import ModelSpec
from caudal.facts.models import hub_model, model_catalogue, resolve_model
from caudal.facts.readers.hub_cache import is_hub_id
from caudal.facts.readers.upload import UPLOADED
from caudal.vocabulary.errors import UnknownModelError

UPLOADS_KEPT: Final = 256  # chosen: a model is some kB; the ones not asked for longest are dropped


class ServedModels:
    """Names → models, as far as a stranger's request may reach."""

    def __init__(self, *, allow_local: bool, ask_hub: bool = False) -> None:
        self._allow_local = allow_local
        self._ask_hub = ask_hub
        self._uploads: OrderedDict[str, ModelSpec] = OrderedDict()
        self._lock = Lock()  # requests are answered in several threads
        self._asked = 0

    def is_own(self, name: str | None) -> bool:
        """Return whether a name means something that only this client, or this machine, has."""
        if name is None:
            return False
        wanted = name.strip()
        return wanted.startswith(UPLOADED) or (
            self._allow_local and model_catalogue().find(wanted) is None
        )

    def state_of(self, name: str | None) -> int:
        """Return a number that belongs into the key of an answer about a model.

        A file of this machine may change at any time, so it gives a new number each time.
        """
        self._asked += self.is_own(name)
        return self._asked if self.is_own(name) else 0

    def named(self, name: str) -> ModelSpec:
        """Return the model that `name` means.

        Raises:
            UnknownModelError: no such name, or a path although none may be read.
            UnsupportedModelError: there is no rule for its architecture yet.
        """
        wanted = name.strip()
        if wanted.startswith(UPLOADED):
            return self._uploaded(wanted)
        catalogue = model_catalogue()
        entry = catalogue.find(wanted)
        if entry is not None:
            return catalogue.load(entry.id)
        if self._allow_local:
            return resolve_model(wanted, online=self._ask_hub)
        if self._ask_hub and is_hub_id(wanted):
            return hub_model(wanted)
        raise UnknownModelError(
            wanted,
            known=[known.short_name for known in catalogue.entries],
            hint="This server knows the models of its catalogue and those whose config.json or "
            "GGUF header is uploaded; if only the size is known, use params.",
        )

    def keep(self, model: ModelSpec) -> None:
        """Keep an uploaded model under its id until newer ones need its place."""
        assert model.id.startswith(UPLOADED), "an upload is named by what it holds"
        with self._lock:
            self._uploads[model.id] = model
            self._uploads.move_to_end(model.id)
            while len(self._uploads) > UPLOADS_KEPT:
                self._uploads.popitem(last=False)

    def _uploaded(self, name: str) -> ModelSpec:
        with self._lock:
            found = self._uploads.get(name)
            if found is None:
                raise UnknownModelError(
                    name, known=(), hint="Uploads are kept for a while only: upload it again."
                )
            self._uploads.move_to_end(name)
            return found
