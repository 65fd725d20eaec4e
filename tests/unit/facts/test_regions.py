import pytest

from caudal.facts.regions import (
    RegionWish,
    UnknownRegionError,
    country_areas,
    place_of,
    places,
    region_matches,
    region_wish,
)


@pytest.mark.parametrize(
    ("wish", "provider", "region", "country"),
    [
        ("eu", "gcp", "europe-west4", "NL"),
        ("EU", "gcp", "europe-west4", "NL"),
        ("europe", "azure", "uksouth", "GB"),
        ("eea", "azure", "norwayeast", "NO"),
        ("uk", "azure", "uksouth", "GB"),
        ("de", "gcp", "europe-west3", "DE"),
        ("Germany", "gcp", "europe-west3", "DE"),
        ("south korea", "gcp", "asia-northeast3", "KR"),
        ("ca", "azure", "canadaeast", "CA"),
        ("na", "azure", "canadaeast", "CA"),
        ("apac", "azure", "australiaeast", "AU"),
        ("me", "azure", "uaenorth", "AE"),
        ("us-east-1", "aws", "us-east-1", "US"),
        ("aws:us-east-1", "aws", "us-east-1", "US"),
        ("us-east", "gcp", "us-east4", "US"),
        ("dfw-1", "gpu-rent-hub", "DFW-1", "US"),
        ("Dallas", "gpu-rent-hub", "DFW-1", "US"),
        ("frankfurt", "azure", "germanywestcentral", "DE"),
    ],
)
def test_a_region_is_understood_as_people_write_it(
    wish: str, provider: str, region: str, country: str
) -> None:
    assert region_matches(wish, provider=provider, region=region, country=country)


@pytest.mark.parametrize(
    ("wish", "provider", "region", "country"),
    [
        ("eu", "azure", "uksouth", "GB"),
        ("eu", "azure", "switzerlandnorth", "CH"),
        ("eea", "azure", "uksouth", "GB"),
        ("us-east-1", "aws", "us-west-2", "US"),
        ("aws:us-east-1", "alibabacloud", "us-east-1", "US"),
        ("us", "somebody", "", None),
    ],
)
def test_other_places_are_not_meant(
    wish: str, provider: str, region: str, country: str | None
) -> None:
    assert not region_matches(wish, provider=provider, region=region, country=country)


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("us-esat-1", "us-east-1"), ("germny", "germany"), ("dalas", "dallas")]
)
def test_an_unknown_region_lists_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownRegionError) as caught:
        region_wish(wrong)

    assert nearest in caught.value.remedy


def test_a_wish_is_either_countries_or_regions() -> None:
    assert RegionWish("de", countries=frozenset({"DE"})) == region_wish("de")
    assert not region_wish("iad-1").countries


def test_a_place_has_a_country_and_an_area() -> None:
    place = place_of("gpu-rent-hub", "PDX-1")

    assert place is not None
    assert ("US", "us", "Hillsboro") == (place.country, place.area, place.place)
    assert place_of("gpu-rent-hub", "LHR-1") is None


def test_every_region_lies_in_a_known_country() -> None:
    assert {place.country for place in places().values()} <= set(country_areas())


def test_the_european_union_has_27_members() -> None:
    assert 27 == sum(area == "eu" for area in country_areas().values())
