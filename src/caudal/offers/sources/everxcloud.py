"""EverXCloud: "from" prices of an hourly market that opens later, its page as read 2026-11-30."""

from typing import Final

from caudal.offers.sources.quote_sheet import quote_sheet_source

EVERXCLOUD: Final = quote_sheet_source("everxcloud", title="EverXCloud")
