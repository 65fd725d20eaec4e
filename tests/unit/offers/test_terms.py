import pytest

from caudal.offers.terms import known_terms, provider_id, provider_terms
from caudal.vocabulary.units import Seconds


@pytest.mark.parametrize(
    ("written", "one_name"),
    [
        ("aws", "aws"),
        ("Oracle Cloud", "oci"),
        ("oracle  cloud", "oci"),
        ("Google Cloud", "gcp"),
        ("GPU Rent Hub", "gpu-rent-hub"),
        ("Cudo Compute", "cudo-compute"),
    ],
)
def test_a_provider_has_one_name(written: str, one_name: str) -> None:
    assert one_name == provider_id(written)


def test_bare_metal_may_have_another_minimum() -> None:
    terms = provider_terms("oci")

    assert Seconds(1) == terms.billing_unit_s
    assert Seconds(60) == terms.minimum_s
    assert Seconds(3600) == terms.bare_metal_minimum_s


def test_unknown_terms_stay_unknown() -> None:
    terms = provider_terms("cr8dl")

    assert terms.billing_unit_s is None
    assert terms.minimum_s is None
    assert terms.month_hours is None
    assert terms.source is None


def test_terms_sold_by_the_week_are_billed_by_it() -> None:
    assert Seconds(7 * 24 * 3600) == provider_terms("gpu-rent-hub").billing_unit_s


@pytest.mark.parametrize("terms", known_terms().values(), ids=known_terms())
def test_no_minimum_is_below_the_billing_unit(terms: object) -> None:
    known = provider_terms(getattr(terms, "provider", ""))

    assert known.source is not None
    assert (known.billing_unit_s or 0) <= (known.minimum_s or 0)
