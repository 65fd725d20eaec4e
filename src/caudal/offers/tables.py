"""The tables of offers in the database; `store/migrations` makes them.

`offer_price` is append-only: one row for every change of a price, and one without a price where
an offer was gone. `offering` holds the present price of each, `offer_page` the columns that
queries read.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from caudal.store.sessions import METADATA

SOURCE: Final = Table(
    "offer_source",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String),
    Column("title", String),
    Column("licence", String),
    Column("fresh_days", Integer),
    Column("stale_days", Integer),
    Column("limits_by_user", Boolean),
    Column("tried_at", String),
    Column("problem", Text),
    Column("first_seen", Date),
    Column("last_seen", Date),
)
IMPORT: Final = Table(
    "offer_import",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source_id", Integer, ForeignKey("offer_source.id")),
    Column("imported_at", String),
    Column("file", Text),
    Column("offers", Integer),
    Column("set_aside", Integer),
    Column("changes", Integer),
)
SET_ASIDE: Final = Table(
    "offer_set_aside",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source_id", Integer, ForeignKey("offer_source.id")),
    Column("place", Text),
    Column("what", Text),
    Column("reason", Text),
)
PAGE: Final = Table(
    "offer_page",
    METADATA,
    Column("source_id", Integer, ForeignKey("offer_source.id"), primary_key=True),
    Column("offers", Integer),
    Column("body", LargeBinary),
)
OFFERING: Final = Table(
    "offering",
    METADATA,
    Column("source_id", Integer, ForeignKey("offer_source.id"), primary_key=True),
    Column("key", BigInteger, primary_key=True, autoincrement=False),
    Column("provider", String),
    Column("via", String),
    Column("instance", String),
    Column("gpu_id", String),
    Column("gpu_count", Integer),
    Column("gpu_fraction", String),
    Column("term", String),
    Column("region", String),
    Column("country", String),
    Column("price", String),
    Column("currency", String),
)
PRICE: Final = Table(
    "offer_price",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source_id", Integer),
    Column("key", BigInteger),
    Column("import_id", Integer, ForeignKey("offer_import.id")),
    Column("observed_on", Date),
    Column("price", String),
    Column("currency", String),
    Column("usd_per_gpu_hour", String),
)
