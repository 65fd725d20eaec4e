"""One module a page: from the address to a view model and its template."""

from collections.abc import Callable, Mapping
from typing import Final

from caudal.web.page import Page, Shown
from caudal.web.pages.home import show_home

PAGES: Final[Mapping[str, Callable[[Page], Shown]]] = {
    "/": show_home,
}
