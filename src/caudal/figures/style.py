"""One style for every chart: plain dicts of Vega-Lite, readable on paper and on a dark screen.

A chart is made of rows and of channels that say title and unit. Colours are those of Okabe and
Ito, which colour-blind readers tell apart and which differ in grey. The page around a chart
chooses `DARK` where the reader's screen is dark; files always carry `LIGHT`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Spec = dict[str, Json]
Row = dict[str, Json]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH: Final = 560  # pixels; chosen: a column of a page at 96 dots an inch
HEIGHT: Final = 260
# Source: Okabe and Ito, "Color Universal Design", 2008; black left out, it is the axes' own.
COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
ACCENT, SECOND, QUIET = COLOURS[0], COLOURS[1], "#B0B0B0"
FONT: Final = "Helvetica, Arial, Liberation Sans, sans-serif"


def _config(*, ink: str, paper: str, grid: str) -> Spec:
    text: Spec = {"labelColor": ink, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 11}
    return {
        "background": paper,
        "font": FONT,
        "view": {"stroke": None},
        "title": {
            "color": ink, "subtitleColor": ink, "anchor": "start", "frame": "group", "fontSize": 14,
            "subtitleFontSize": 11, "subtitlePadding": 4, "offset": 8,
        },
        "axis": {
            **text, "gridColor": grid, "domainColor": ink, "tickColor": ink, "titleFontWeight": 400,
            "labelLimit": 240,
        },
        "axisY": {"minExtent": 76, "maxExtent": 76},  # so that charts of a page stand in line
        "legend": {**text, "orient": "bottom", "columns": 2, "labelLimit": 340, "title": None},
        "header": text,
        "range": {"category": list(COLOURS)},
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": ink},
        "concat": {"spacing": 34},
    }  # fmt: skip


LIGHT: Final = _config(ink="#222222", paper="#FFFFFF", grid="#E4E4E4")
DARK: Final = _config(ink="#E8E8E8", paper="#1C1C1E", grid="#3A3A3C")


def quantitative(field: str, title: str, **more: Json) -> Spec:
    """Return a channel for numbers; the title names quantity and unit."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def nominal(field: str, title: str | None = None, **more: Json) -> Spec:
    """Return a channel for names."""
    return {"field": field, "type": "nominal", "title": title, **more}


def chart(
    title: str,
    rows: Sequence[Row],
    *layers: Spec,
    subtitle: str = "",
    height: int = HEIGHT,
    width: int = WIDTH,
) -> Spec:
    """Return one chart: its title, what it says in a sentence, its rows, and marks over them."""
    heading: Spec = {"text": title}
    if subtitle:
        heading["subtitle"] = wrapped(subtitle, 92)
    return {
        "title": heading,
        "data": {"values": list(rows)},
        "width": width,
        "height": height,
        "layer": list(layers),
    }


def page(*charts: Spec) -> Spec:
    """Return charts one below the other as a complete specification."""
    assert charts, "a page without a chart"
    body: Spec = charts[0] if len(charts) == 1 else {"vconcat": list(charts)}
    if len(charts) > 1:  # each chart has its own colours and sizes
        body["resolve"] = {"scale": {"color": "independent", "size": "independent"}}
    return {"$schema": SCHEMA, "config": LIGHT, **body}


def amounts() -> Spec:
    """Return an axis for amounts from fractions to billions: 0.5, 20k, 1.5B."""
    short = "replace(format(datum.value, '~s'), 'G', 'B')"
    return {"labelExpr": f"datum.value < 1 ? format(datum.value, '~g') : {short}"}


def sentence_case(name: str) -> str:
    """Return a name with its first letter large and the rest as it is."""
    return name[:1].upper() + name[1:]


def wrapped(text: str, width: int) -> list[str]:
    """Return a sentence in lines of at most `width` letters: Vega-Lite does not wrap."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
