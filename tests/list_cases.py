"""The recorded lists, and how the tests read them."""

from datetime import date
from pathlib import Path
from typing import Final

from caudal.offers.batch import OfferBatch
from caudal.offers.known import import_facts
from caudal.offers.sources.files import ListFile, read_list_files
from caudal.offers.sources.list_formats import Wanted, read_list

RECORDED: Final = Path(__file__).parent / "data" / "offers"
READ_ON: Final = date(2026, 11, 30)
LISTS: Final = (
    "aws/vms.csv",
    "lambdalabs.csv",
    "quotes.csv",
    "vastai.json",
    "runpod.json",
    "shadeform.json",
    "dstack.json",
)


def read_recorded(name: str) -> OfferBatch:
    """Return the offers of a recorded list."""
    (file,) = read_list_files(RECORDED / name)
    return read_text(file.name, file.text)


def read_text(name: str, text: str, wanted: Wanted | None = None) -> OfferBatch:
    """Return the offers of a list given as text."""
    return read_list(
        ListFile(name, text, "utf-8"),
        wanted=wanted or Wanted(),
        modified_on=date(2026, 11, 15),
        today=READ_ON,
        facts=import_facts(),
    )


def reasons(batch: OfferBatch) -> str:
    """Return why rows were set aside, a line each."""
    return "\n".join(f"{row.where}: {row.what}: {row.reason}" for row in batch.set_aside)
