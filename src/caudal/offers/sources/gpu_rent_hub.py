"""GPU Rent Hub: bare metal by the week or month, its page's prices of 2026-09-01."""

from typing import Final

from caudal.offers.sources.quote_sheet import quote_sheet_source

GPU_RENT_HUB: Final = quote_sheet_source("gpu-rent-hub", title="GPU Rent Hub")
