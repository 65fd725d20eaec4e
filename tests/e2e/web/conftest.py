"""The real server, started by its command, and a real browser in front of it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

ROOT = Path(__file__).parents[3]
SCREENS = ROOT / "build" / "screens"
CAUDAL = Path(sys.executable).parent / "caudal"
TODAY = "1796040000"  # 2026-11-30: ages of prices must not change with the day
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
Open = Callable[..., Page]


def _chromium() -> str:
    """Return where Chromium is, installed by the script where it is missing."""
    subprocess.run([str(ROOT / "scripts" / "browser.sh")], check=True)
    found = shutil.which("chromium")
    assert found is not None, "scripts/browser.sh leaves Chromium in the path"
    return found


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server of its own, which knows only what is bundled."""
    folder = tmp_path_factory.mktemp("server")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": TODAY, "HOME": str(folder)}
    with subprocess.Popen(
        [str(CAUDAL), "serve", "--port", "0", "--rate-limit", "off"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            address = re.search(r"http://[\d.:]+", line)
            assert address is not None, f"the server said {line!r}"
            yield address[0]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield Chromium, as Debian ships it.

    No longer than a module lasts: Playwright keeps an event loop running in this thread, in which
    the tests of other modules could not start their own.
    """
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield started
        started.close()


class Watched:
    """What a page complained of while it was open."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.allowed: tuple[str, ...] = ()

    def console(self, message: ConsoleMessage) -> None:
        """Keep an error that the browser logs: a script's, a refused style, a missing file."""
        if message.type == "error" and not any(text in message.text for text in self.allowed):
            self.errors.append(message.text)


@pytest.fixture
def watched() -> Watched:
    """Return the list that fails the test if anything is put on it."""
    return Watched()


@pytest.fixture
def open_page(server: str, browser: Browser, watched: Watched) -> Iterator[Open]:
    """Yield a function that opens a path; errors in the console fail the test."""
    contexts: list[BrowserContext] = []

    def opened(
        path: str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        scripts: bool = True,
        locale: str = "en-GB",
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            locale=locale,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.on("console", watched.console)
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        page.goto(server + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [] == watched.errors


@pytest.fixture(scope="session")
def screens() -> Path:
    """Return the folder that keeps the screenshots of a run."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    return SCREENS
