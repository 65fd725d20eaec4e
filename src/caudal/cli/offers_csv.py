"""Offers as CSV: one row an offer, in base units, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from typing import Final

from caudal.documents.offers import PricedOffer
from caudal.offers.sources.cells import for_spreadsheet

COLUMNS: Final = (
    *("provider", "via", "instance", "gpu_id", "gpu_count", "gpu_fraction", "term", "price"),
    *("currency", "hours_per_unit", "price_usd_per_gpu_hour", "region", "country", "vcpus"),
    *("ram_bytes", "stock", "interconnect", "billing_unit_s", "cold_start_s", "reliability"),
    *("verified", "tax", "observed_on", "note"),
)


def offers_csv(offers: Iterable[PricedOffer]) -> str:
    """Return the table; an unknown cell is empty, a text that begins like a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, "usd_per_hour", "age_days", "age", "source"])
    for item in offers:
        cells = [getattr(item.offer, name) for name in COLUMNS]
        cells += [item.usd_per_hour, item.age_days, item.age, item.offer.source.where]
        writer.writerow(["" if cell is None else for_spreadsheet(str(cell)) for cell in cells])
    return out.getvalue()
