"""One batch of offers into the database: what is offered now, and every change of a price."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Table, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from caudal.offers.batch import OfferBatch
from caudal.offers.book import by_price
from caudal.offers.offer import AgeLimits, Offer
from caudal.offers.page import write_page
from caudal.offers.tables import IMPORT, OFFERING, PAGE, PRICE, SET_ASIDE, SOURCE

_AT_ONCE: Final = 5_000  # chosen: rows sent in one go; more gained nothing


class Recorded(NamedTuple):
    """What a batch changed."""

    source: str
    offers: int
    set_aside: int
    new: int
    changed: int
    gone: int
    is_older: bool  # than what the database had: only the history was filled in


class _Known(NamedTuple):
    """What the database has of an offering: its last price, None where it was gone."""

    price: str | None
    currency: str


@dataclass(slots=True)
class _Changes:
    """What is to be written."""

    offerings: list[dict[str, object]] = field(default_factory=list)
    prices: list[dict[str, object]] = field(default_factory=list)
    present: list[dict[str, object]] = field(default_factory=list)
    changed: int = 0
    gone: int = 0


def record_batch(
    session: Session, batch: OfferBatch, *, file: str, now: datetime, limits: AgeLimits
) -> Recorded:
    """Write a batch: it replaces what its source offered, and only changes enter the history.

    A batch that is older than what the database has of its source fills in the history alone.
    """
    source = _lock_source(session, batch, limits=limits)
    seen = batch.observed
    is_older = bool(seen and source.last_seen and seen[1] < source.last_seen)
    run = _insert_import(session, source.id, batch, file=file, now=now)
    known = _known(session, source.id)
    if is_older:
        changes = _missing_history(session, source.id, run, batch, known)
    else:
        changes = _changes(source.id, run, batch, known)
    _write(session, changes)
    count = changes.changed + changes.gone + len(changes.offerings)
    session.execute(update(IMPORT).where(_is(IMPORT, "id", run)).values(changes=count))
    if not is_older:
        _replace_present(session, source.id, batch, now=now)
    _widen_days(session, source, batch)
    return Recorded(
        source=batch.source,
        offers=len(batch.offers),
        set_aside=len(batch.set_aside),
        new=len(changes.offerings),
        changed=changes.changed,
        gone=changes.gone,
        is_older=is_older,
    )


def record_failure(
    session: Session, *, name: str, title: str, problem: str, now: datetime, limits: AgeLimits
) -> None:
    """Note that a source did not answer; its rows are kept."""
    batch = OfferBatch(source=name, title=title, licence="", offers=(), set_aside=())
    source = _lock_source(session, batch, limits=limits)
    session.execute(
        update(SOURCE)
        .where(_is(SOURCE, "id", source.id))
        .values(tried_at=now.isoformat(timespec="seconds"), problem=problem)
    )


def set_limits(session: Session, name: str, limits: AgeLimits) -> bool:
    """Set how fast a source's prices grow old; False where there is no such source."""
    done = session.execute(
        update(SOURCE)
        .where(_is(SOURCE, "name", name))
        .values(fresh_days=limits.fresh_days, stale_days=limits.stale_days, limits_by_user=True)
        .returning(SOURCE.c.id)
    )
    return done.scalar() is not None


class _SourceRow(NamedTuple):
    id: int
    first_seen: date | None
    last_seen: date | None


def _lock_source(session: Session, batch: OfferBatch, *, limits: AgeLimits) -> _SourceRow:
    """Return the source's row, made if need be, and keep other imports of it waiting."""
    wanted = (
        select(SOURCE.c.id, SOURCE.c.first_seen, SOURCE.c.last_seen)
        .where(_is(SOURCE, "name", batch.source))
        .with_for_update()
    )
    row = session.execute(wanted).one_or_none()
    if row is None:
        try:
            with session.begin_nested():
                session.execute(
                    insert(SOURCE).values(
                        name=batch.source,
                        title=batch.title,
                        licence=batch.licence,
                        fresh_days=limits.fresh_days,
                        stale_days=limits.stale_days,
                        limits_by_user=False,
                        problem="",
                    )
                )
        except IntegrityError:
            pass  # another import made it in this moment; its row is waited for below
        row = session.execute(wanted).one()
    return _SourceRow(*row)


def _insert_import(
    session: Session, source_id: int, batch: OfferBatch, *, file: str, now: datetime
) -> int:
    done = session.execute(
        insert(IMPORT)
        .values(
            source_id=source_id,
            imported_at=now.isoformat(timespec="seconds"),
            file=file,
            offers=len(batch.offers),
            set_aside=len(batch.set_aside),
            changes=0,
        )
        .returning(IMPORT.c.id)
    )
    return int(done.scalar_one())


def _known(session: Session, source_id: int) -> dict[int, _Known]:
    found = session.execute(
        select(OFFERING.c.key, OFFERING.c.price, OFFERING.c.currency).where(
            _is(OFFERING, "source_id", source_id)
        )
    )
    return {key: _Known(price, currency) for key, price, currency in found}


def keyed(offers: Iterable[Offer]) -> Iterator[tuple[int, Offer]]:
    """Yield each offer with the number under which its prices are followed.

    It stays the same while the machine, its place and its term do; several of one name are told
    apart by their order of price.
    """
    times: Counter[bytes] = Counter()
    for offer in sorted(offers, key=by_price):
        named = (
            *(offer.provider, offer.via, offer.instance, offer.region, offer.gpu_id, offer.term),
            *(str(offer.gpu_count), str(offer.gpu_fraction), str(offer.vcpus)),
            str(offer.ram_bytes),
        )
        plain = "\x1f".join(named).encode()
        times[plain] += 1
        digest = hashlib.blake2b(plain + b"\x1f%d" % times[plain], digest_size=8).digest()
        yield int.from_bytes(digest, "little") >> 1, offer


def _changes(source_id: int, run: int, batch: OfferBatch, known: Mapping[int, _Known]) -> _Changes:
    changes = _Changes()
    offered: set[int] = set()
    for key, offer in keyed(batch.offers):
        offered.add(key)
        before = known.get(key)
        now = _Known(str(offer.price), offer.currency)
        if before == now:
            continue
        changes.prices.append(_observation(source_id, run, key, offer))
        if before is None:
            changes.offerings.append(_offering(source_id, key, offer))
        else:
            changes.changed += 1
            changes.present.append(_present(source_id, key, *now))
    last = batch.observed[1] if batch.observed else None
    for key, was in known.items():
        if key not in offered and was.price is not None and last is not None:
            changes.gone += 1
            changes.present.append(_present(source_id, key, None, was.currency))
            changes.prices.append(_withdrawal(source_id, run, key, last, was.currency))
    return changes


def _missing_history(
    session: Session, source_id: int, run: int, batch: OfferBatch, known: Mapping[int, _Known]
) -> _Changes:
    """Return the observations of an older list that the database does not have."""
    changes = _Changes()
    found = session.execute(
        select(PRICE.c.key, PRICE.c.observed_on, PRICE.c.price).where(
            _is(PRICE, "source_id", source_id)
        )
    )
    have = {(key, day, price) for key, day, price in found}
    for key, offer in keyed(batch.offers):
        if (key, offer.observed_on, str(offer.price)) in have:
            continue
        if key not in known:
            changes.offerings.append({**_offering(source_id, key, offer), "price": None})
        changes.prices.append(_observation(source_id, run, key, offer))
        changes.changed += key in known
    return changes


def _offering(source_id: int, key: int, offer: Offer) -> dict[str, object]:
    return {
        "source_id": source_id,
        "key": key,
        "provider": offer.provider,
        "via": offer.via,
        "instance": offer.instance,
        "gpu_id": offer.gpu_id,
        "gpu_count": offer.gpu_count,
        "gpu_fraction": str(offer.gpu_fraction),
        "term": offer.term.value,
        "region": offer.region,
        "country": offer.country,
        "price": str(offer.price),
        "currency": offer.currency,
    }


def _observation(source_id: int, run: int, key: int, offer: Offer) -> dict[str, object]:
    return {
        "source_id": source_id,
        "key": key,
        "import_id": run,
        "observed_on": offer.observed_on,
        "price": str(offer.price),
        "currency": offer.currency,
        "usd_per_gpu_hour": str(round(offer.price_usd_per_gpu_hour, 12)),
    }


def _withdrawal(source_id: int, run: int, key: int, day: date, currency: str) -> dict[str, object]:
    return {
        "source_id": source_id,
        "key": key,
        "import_id": run,
        "observed_on": day,
        "price": None,
        "currency": currency,
        "usd_per_gpu_hour": None,
    }


def _present(source_id: int, key: int, price: str | None, currency: str) -> dict[str, object]:
    return {"of_source": source_id, "of_key": key, "price": price, "currency": currency}


def _write(session: Session, changes: _Changes) -> None:
    for rows, table in ((changes.offerings, OFFERING), (changes.prices, PRICE)):
        _insert_all(session, table, rows)
    if changes.present:
        statement = (
            update(OFFERING)
            .where(OFFERING.c.source_id == bindparam("of_source"))
            .where(OFFERING.c.key == bindparam("of_key"))
            .values(price=bindparam("price"), currency=bindparam("currency"))
        )
        session.connection().execute(statement, changes.present)


def _insert_all(session: Session, table: Table, rows: Sequence[dict[str, object]]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        session.connection().execute(insert(table), list(rows[start : start + _AT_ONCE]))


def _replace_present(session: Session, source_id: int, batch: OfferBatch, *, now: datetime) -> None:
    """Put the batch in the place of what the source offered before."""
    body = write_page(sorted(batch.offers, key=by_price))
    session.execute(delete(PAGE).where(_is(PAGE, "source_id", source_id)))
    session.execute(insert(PAGE).values(source_id=source_id, offers=len(batch.offers), body=body))
    session.execute(delete(SET_ASIDE).where(_is(SET_ASIDE, "source_id", source_id)))
    rows: list[dict[str, object]] = [
        {"source_id": source_id, "place": row.where, "what": row.what, "reason": row.reason}
        for row in batch.set_aside
    ]
    _insert_all(session, SET_ASIDE, rows)
    session.execute(
        update(SOURCE)
        .where(_is(SOURCE, "id", source_id))
        .values(
            title=batch.title,
            licence=batch.licence,
            tried_at=now.isoformat(timespec="seconds"),
            problem="",
        )
    )


def _widen_days(session: Session, source: _SourceRow, batch: OfferBatch) -> None:
    if batch.observed is None:
        return
    first, last = batch.observed
    session.execute(
        update(SOURCE)
        .where(_is(SOURCE, "id", source.id))
        .values(
            first_seen=min(first, source.first_seen or first),
            last_seen=max(last, source.last_seen or last),
        )
    )


def _is(table: Table, column: str, value: object) -> ColumnElement[bool]:
    return table.c[column] == value
