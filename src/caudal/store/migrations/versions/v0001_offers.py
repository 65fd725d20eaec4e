"""Offers: sources, imports, what is offered, every price ever seen, and the pages for queries.

The tables are written out here, not taken from the code: a migration must not change when it does.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NAME = sa.String(300)
_AMOUNT = sa.String(60)  # an exact decimal as text
_KEPT = "price observations are kept for ever"


def upgrade() -> None:
    """Make the tables."""
    _sources()
    _offers()
    _append_only()


def _sources() -> None:
    op.create_table(
        "offer_source",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _NAME, nullable=False, unique=True),
        sa.Column("title", _NAME, nullable=False),
        sa.Column("licence", _NAME, nullable=False),
        sa.Column("fresh_days", sa.Integer, nullable=False),
        sa.Column("stale_days", sa.Integer, nullable=False),
        sa.Column("limits_by_user", sa.Boolean, nullable=False, default=False),
        sa.Column("tried_at", sa.String(40)),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("first_seen", sa.Date),
        sa.Column("last_seen", sa.Date),
    )
    op.create_table(
        "offer_import",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source_id", sa.Integer, sa.ForeignKey("offer_source.id"), nullable=False),
        sa.Column("imported_at", sa.String(40), nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("offers", sa.Integer, nullable=False),
        sa.Column("set_aside", sa.Integer, nullable=False),
        sa.Column("changes", sa.Integer, nullable=False),
    )
    op.create_table(
        "offer_set_aside",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "source_id", sa.Integer, sa.ForeignKey("offer_source.id"), nullable=False, index=True
        ),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "offer_page",
        sa.Column("source_id", sa.Integer, sa.ForeignKey("offer_source.id"), primary_key=True),
        sa.Column("offers", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _offers() -> None:
    op.create_table(
        "offering",
        sa.Column("source_id", sa.Integer, sa.ForeignKey("offer_source.id"), primary_key=True),
        sa.Column("key", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("provider", _NAME, nullable=False),
        sa.Column("via", _NAME, nullable=False),
        sa.Column("instance", _NAME, nullable=False),
        sa.Column("gpu_id", _NAME, nullable=False, index=True),
        sa.Column("gpu_count", sa.Integer, nullable=False),
        sa.Column("gpu_fraction", _AMOUNT, nullable=False),
        sa.Column("term", sa.String(20), nullable=False),
        sa.Column("region", _NAME, nullable=False),
        sa.Column("country", sa.String(2)),
        sa.Column("price", _AMOUNT),
        sa.Column("currency", sa.String(3), nullable=False),
    )
    op.create_table(
        "offer_price",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("key", sa.BigInteger, nullable=False),
        sa.Column("import_id", sa.Integer, sa.ForeignKey("offer_import.id"), nullable=False),
        sa.Column("observed_on", sa.Date, nullable=False),
        sa.Column("price", _AMOUNT),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("usd_per_gpu_hour", _AMOUNT),
        sa.ForeignKeyConstraint(["source_id", "key"], ["offering.source_id", "offering.key"]),
    )
    op.create_index("offer_price_of", "offer_price", ["source_id", "key", "observed_on"])


def _append_only() -> None:
    """Let the database itself refuse to change or delete an observation."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION offer_price_is_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{_KEPT}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER offer_price_is_kept BEFORE UPDATE OR DELETE ON offer_price "
            "FOR EACH ROW EXECUTE FUNCTION offer_price_is_kept()"
        )
        return
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER offer_price_no_{verb.lower()} BEFORE {verb} ON offer_price "
            f"BEGIN SELECT RAISE(ABORT, '{_KEPT}'); END"
        )


def downgrade() -> None:
    """Drop the tables and all history in them."""
    for table in (
        *("offer_price", "offering", "offer_page", "offer_set_aside", "offer_import"),
        "offer_source",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION offer_price_is_kept()")
