"""How heavy a first visit is, as the browser counts it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

Open = Callable[..., Page]
MOST_BYTES = 300_000
SIZES = (
    "performance.getEntriesByType('navigation').concat("
    "performance.getEntriesByType('resource')).map(entry => entry.transferSize)"
)


@pytest.mark.parametrize(
    "path", ["/?model=llama-3.1-8b&amount=2%2Fs&gpu=l4,l40s", "/gpus", "/models", "/offers"]
)
def test_a_first_visit_loads_little(path: str, open_page: Open) -> None:
    page = open_page(path)

    sizes = page.evaluate(SIZES)

    assert 0 < sum(sizes) <= MOST_BYTES
    assert len(sizes) <= 8
