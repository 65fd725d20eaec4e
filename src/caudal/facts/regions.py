"""Where the regions of providers lie, and what people mean by `eu`, `de` or `us-east-1`.

An area is a set of countries: "us", "ca", "latam", "eu" (the members of the European Union),
"europe" (the rest of it: Norway, Iceland, Switzerland, the United Kingdom), "asia", "me",
"oceania" and "africa". The EU is an area of its own because data protection asks for it.
`verified` in the tables says whether the whole source was read, or a part of it only.
"""

import csv
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from io import StringIO
from typing import NamedTuple

from caudal.vocabulary.errors import UnknownNameError


class UnknownRegionError(UnknownNameError):
    """No provider, country or area has a region of this name."""

    code, noun = "unknown-region", "region"


class Place(NamedTuple):
    """Where one region of one provider lies."""

    provider: str
    region: str
    country: str  # ISO 3166-1 alpha-2
    area: str
    place: str  # town or state


class RegionWish(NamedTuple):
    """What a user's word for a region means: countries, or regions by name.

    Empty `countries` and `regions` never occur together.
    """

    text: str
    countries: frozenset[str] = frozenset()
    regions: frozenset[tuple[str, str]] = frozenset()  # (provider, region)

    def admits(self, *, provider: str, region: str, country: str | None) -> bool:
        """Return whether an offer of this place is meant; one of unknown place never is."""
        return country in self.countries or (provider, region) in self.regions


# Words for several areas or countries, beside the areas themselves.
_GROUPS: Mapping[str, frozenset[str]] = {
    "usa": frozenset({"us"}),
    "north-america": frozenset({"us", "ca"}),
    "na": frozenset({"us", "ca"}),
    "europe": frozenset({"eu", "europe"}),
    "middle-east": frozenset({"me"}),
    "apac": frozenset({"asia", "oceania"}),
    "latin-america": frozenset({"latam"}),
    "world": frozenset(
        {"us", "ca", "latam", "eu", "europe", "asia", "me", "oceania", "africa"},
    ),
}
_COUNTRY_WORDS: Mapping[str, frozenset[str]] = {"uk": frozenset({"GB"})}
# Members of the European Economic Area outside the EU.
_EEA_ONLY = frozenset({"NO", "IS", "LI"})


@cache
def places() -> Mapping[tuple[str, str], Place]:
    """Return the known regions by provider and name."""
    areas = country_areas()
    return {
        (row["provider"], row["region"]): Place(
            row["provider"], row["region"], row["country"], areas[row["country"]], row["place"]
        )
        for row in _rows("regions.csv")
    }


@cache
def country_areas() -> Mapping[str, str]:
    """Return the area of each country, by ISO 3166-1 alpha-2 code."""
    return {row["country"]: row["area"] for row in _rows("countries.csv")}


def place_of(provider: str, region: str) -> Place | None:
    """Return where a provider's region lies, None where that is unknown."""
    return places().get((provider, region))


def region_wish(text: str) -> RegionWish:
    """Return what `text` means: an area, a country (code or name), a region or a town.

    A region may name its provider (`aws:us-east-1`); `us-east` means every region that begins so.
    Areas win over country codes: `ca` is Canada either way, `me` the Middle East, not Montenegro.

    Raises:
        UnknownRegionError: nothing is called so; the nearest names are listed.
    """
    word = text.strip().casefold().replace(" ", "-").replace("_", "-")
    countries = _countries(word)
    if countries:
        return RegionWish(text, countries=countries)
    regions = _regions(word)
    if regions:
        return RegionWish(text, regions=regions)
    raise UnknownRegionError(
        text,
        known=sorted(known_regions()),
        hint="Give an area (us, eu, europe, asia, ...), a country such as de, or a region such"
        " as us-east-1.",
    )


def region_matches(wish: str, *, provider: str, region: str, country: str | None) -> bool:
    """Return whether the place of an offer is what `wish` means; see `region_wish`."""
    return region_wish(wish).admits(provider=provider, region=region, country=country)


def known_regions() -> frozenset[str]:
    """Return every word that `region_wish` understands, prefixes and `provider:` left out."""
    countries = _country_names()
    return frozenset(
        [
            *country_areas().values(),
            *_GROUPS,
            *_COUNTRY_WORDS,
            "eea",
            *(code.casefold() for code in country_areas()),
            *countries,
            *(place.region for place in places().values()),
            *(_slug(place.place) for place in places().values()),
        ]
    )


def _countries(word: str) -> frozenset[str]:
    """Return the countries of an area, a group of areas or one country's code or name."""
    areas = country_areas()
    if word == "eea":
        return frozenset(c for c, area in areas.items() if area == "eu") | _EEA_ONLY
    wanted = _GROUPS.get(word, frozenset({word}))
    members = frozenset(country for country, area in areas.items() if area in wanted)
    if members:
        return members
    if word in _COUNTRY_WORDS:
        return _COUNTRY_WORDS[word]
    if word.upper() in areas:
        return frozenset({word.upper()})
    return frozenset(_country_names().get(word, ()))


def _regions(word: str) -> frozenset[tuple[str, str]]:
    """Return the regions of this name, in this town, or that begin with this word."""
    provider, _, name = word.rpartition(":")
    within = [
        place for place in places().values() if not provider or place.provider == provider.strip()
    ]
    exact = [place for place in within if name in {place.region.casefold(), _slug(place.place)}]
    begun = exact or [
        place
        for place in within
        if len(name) > 2 and place.region.casefold().startswith((f"{name}-", name))
    ]
    return frozenset((place.provider, place.region) for place in begun)


@cache
def _country_names() -> Mapping[str, tuple[str, ...]]:
    """Return country codes by the country's name, as in `south-korea`."""
    return {_slug(row["name"]): (row["country"],) for row in _rows("countries.csv")}


def _slug(name: str) -> str:
    return name.casefold().replace(". ", "-").replace(" ", "-")


def _rows(name: str) -> Iterator[dict[str, str]]:
    raw = pkgutil.get_data("caudal.facts", f"data/{name}")
    assert raw is not None, f"the wheel lacks data/{name}"
    return csv.DictReader(StringIO(raw.decode("utf-8")))
