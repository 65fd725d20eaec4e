"""From a page's values to HTML: Jinja2, with everything escaped that is not marked as safe."""

from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from caudal import __version__
from caudal.web.languages import messages
from caudal.web.page import Page, Shown

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def static_files() -> dict[str, bytes]:
    """Return every file that pages load, by name; no other name is served."""
    folder = files("caudal.web").joinpath("static")
    return {
        item.name: item.read_bytes()
        for item in folder.iterdir()
        if item.name[item.name.rfind(".") :] in TYPES
    }


@cache
def asset(name: str) -> str:
    """Return the address of a static file: it changes with its content, so it may be kept."""
    digest = blake2b(static_files()[name], digest_size=6).hexdigest()
    return f"/static/{digest}/{name}"


@lru_cache(maxsize=8)
def environment(language: str) -> Environment:
    """Return the templates of one language."""
    made = Environment(
        loader=PackageLoader("caudal.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.globals["asset"] = asset
    made.globals["version"] = __version__
    install = getattr(made, "install_gettext_translations")  # noqa: B009  # added by the extension
    install(messages(language), newstyle=True)
    return made


def draw(page: Page, shown: Shown) -> bytes:
    """Return the page as it is sent."""
    figures = page.figures
    template = environment(page.language).get_template(shown.template)
    text = template.render(
        page=page,
        link=page.link,
        told=page.told,
        fig=figures,
        num=figures.number,
        usd=figures.usd,
        **shown.values,
    )
    return text.encode()
