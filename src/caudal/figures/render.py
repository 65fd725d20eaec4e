"""A specification as a file: SVG, PNG, a page that works offline, or the specification itself.

Drawing needs the package vl-convert-python, which brings its own JavaScript engine and fonts and
reaches no network; it is the extra `plot`. The specification alone needs nothing.
"""

import json
from enum import StrEnum
from typing import Final

from caudal.figures.style import DARK, Spec
from caudal.vocabulary.errors import InvalidInputError, MissingExtraError

VEGA_LITE: Final = "5.21"  # of those that vl-convert carries
_PNG_SCALE: Final = 2  # dots a pixel, so that a print is sharp
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Caudal</title>
<style>
body {{ margin: 1.5rem; background: #fff; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #1c1c1e; }} }}
</style>
</head>
<body>
<div id="figure"></div>
<script type="module">
{script}
</script>
</body>
</html>
"""
_SCRIPT: Final = """
const spec = {spec};
const dark = {dark};
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const draw = () => vegaEmbed(
  "#figure", prefersDark.matches ? {{...spec, config: dark}} : spec,
  {{mode: "vega-lite", renderer: "svg", actions: false}});
prefersDark.addEventListener("change", draw);
draw();
"""


class FigureFormat(StrEnum):
    """The kinds of file, by the ending of their name."""

    SVG = "svg"
    PNG = "png"
    HTML = "html"
    JSON = "json"


def figure_format(name: str) -> FigureFormat:
    """Return the format that a file's name asks for by its ending.

    Raises:
        InvalidInputError: another ending, or none.
    """
    ending = name.rpartition(".")[2].casefold() if "." in name else ""
    try:
        return FigureFormat(ending)
    except ValueError as error:
        known = ", ".join(f".{kind}" for kind in FigureFormat)
        raise InvalidInputError(
            f"{name!r} does not say what to draw.", remedy=f"End the name with one of {known}."
        ) from error


def render(spec: Spec, kind: FigureFormat) -> bytes:
    """Return the chart in this format; the same specification gives the same bytes.

    Raises:
        MissingExtraError: vl-convert-python is needed and not installed.
    """
    if kind is FigureFormat.JSON:
        return _dumped(spec).encode()
    try:
        import vl_convert  # noqa: PLC0415 - 80 MB, and only who draws has it
    except ImportError as error:
        raise MissingExtraError(
            f"Drawing {kind.upper()} needs the package vl-convert-python.",
            remedy=(
                "Install it with pip install 'caudal[plot]', or end the file's name with .json "
                "for the Vega-Lite specification alone."
            ),
        ) from error
    match kind:
        case FigureFormat.SVG:
            return vl_convert.vegalite_to_svg(dict(spec), vl_version=VEGA_LITE).encode()
        case FigureFormat.PNG:
            drawn = vl_convert.vegalite_to_png(dict(spec), vl_version=VEGA_LITE, scale=_PNG_SCALE)
            return bytes(drawn)
        case FigureFormat.HTML:
            script = _SCRIPT.format(spec=_for_script(spec), dark=_for_script(DARK))
            bundle = vl_convert.javascript_bundle(script, vl_version=VEGA_LITE)
            return _PAGE.format(script=bundle.replace("</script", "<\\/script")).encode()


def _dumped(spec: Spec) -> str:
    return json.dumps(spec, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _for_script(spec: Spec) -> str:
    """Return JSON that cannot end the script it stands in."""
    return json.dumps(spec, allow_nan=False).replace("</", "<\\/")
