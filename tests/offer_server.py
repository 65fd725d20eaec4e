"""A small HTTP server on this machine that answers as the services of offers do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

RECORDED = Path(__file__).parent / "data" / "offers"


class OfferHandler(BaseHTTPRequestHandler):
    """Answers `/NAME` with the recorded list NAME, and some paths in bad ways."""

    seen: ClassVar[list[tuple[str, str, str]]] = []
    release: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self._answer()

    def _answer(self) -> None:
        key = self.headers.get("Authorization") or self.headers.get("X-API-KEY") or ""
        self.seen.append((self.command, self.path, key))
        name = self.path.strip("/").partition("/")[0]
        match name:
            case "moved":
                self.send_response(302)
                self.send_header("Location", "/vastai.json")
                self.end_headers()
            case "hangs":
                self.release.wait(20)
            case "drips":
                self._drip()
            case _ if name.isdigit():
                self.send_error(int(name))
            case "api":
                self._send((RECORDED / "dstack.json").read_bytes())
            case _:
                file = RECORDED / name
                self._send(file.read_bytes() if file.is_file() else b"{}")

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.release.wait(0.02):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@contextmanager
def offer_server() -> Iterator[str]:
    """Run the server and give its address."""
    OfferHandler.seen.clear()
    OfferHandler.release.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), OfferHandler)
    server.daemon_threads = False  # so that closing the server waits for its threads
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        OfferHandler.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
