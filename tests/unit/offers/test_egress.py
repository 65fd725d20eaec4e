from decimal import Decimal

from caudal.offers.egress import egress_prices
from caudal.offers.price import egress_usd
from caudal.vocabulary.units import TB, Bytes


def test_four_clouds_are_known() -> None:
    assert {"aws", "azure", "gcp", "oci"} == set(egress_prices())


def test_twenty_terabytes_cost_what_the_tiers_say() -> None:
    prices = egress_prices()

    # AWS: 10,000 GB at 0.09 and 9,900 GB at 0.085 after 100 GB free.
    assert Decimal("1741.50") == egress_usd(Bytes(20 * TB), prices["aws"])
    # OCI: 10,000 GB free, the rest at 0.0085.
    assert Decimal(85) == egress_usd(Bytes(20 * TB), prices["oci"])
