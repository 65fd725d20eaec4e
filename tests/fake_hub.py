"""A hub on loopback: serves files of a folder as the hub does, with ranges, etags and redirects."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

COMMIT = "c" * 40


@dataclass
class FakeHub:
    """Repositories by id, each file's bytes by name; what was asked for is kept."""

    files: dict[str, dict[str, bytes]]
    gated: frozenset[str] = frozenset()
    stores_elsewhere: bool = False  # weight files are answered by a redirect to another host
    requests: list[tuple[str, str]] = field(default_factory=list)  # path, Range
    authorised_stores: list[str] = field(default_factory=list)  # tokens that reached the store
    sent_bytes: int = 0


class _Server(ThreadingHTTPServer):
    def __init__(self, hub: FakeHub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    @property
    def hub(self) -> FakeHub:
        assert isinstance(self.server, _Server)
        return self.server.hub

    def _answer(self, *, with_body: bool) -> None:
        path = urlsplit(self.path).path
        self.hub.requests.append((path, self.headers.get("Range", "")))
        if path.startswith("/store/"):
            if self.headers.get("Authorization"):
                self.hub.authorised_stores.append(path)
            path = path.removeprefix("/store")
        elif self.hub.stores_elsewhere and path.endswith(".safetensors"):
            place = f"http://localhost:{self.server.server_port}/store{path}"  # type: ignore[attr-defined]
            self._head(302, {"Location": place}, 0)
            return
        body = self._body(path)
        if body is not None:
            self._send(body, with_body=with_body)

    def _body(self, path: str) -> bytes | None:
        """Return what lies at a path, None where an error was answered."""
        repository, _, rest = path.lstrip("/").partition("/resolve/")
        known = self.hub.files.get(repository)
        if repository in self.hub.gated:
            self._head(403, {"X-Error-Code": "GatedRepo"}, 0)
        elif known is None:
            self._head(404, {"X-Error-Code": "RepoNotFound"}, 0)
        elif (body := known.get(rest.partition("/")[2])) is None:
            self._head(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, 0)
        else:
            return body
        return None

    def _send(self, body: bytes, *, with_body: bool) -> None:
        headers = {"ETag": f'"{len(body):x}"', "X-Repo-Commit": COMMIT}
        asked = self.headers.get("Range", "")
        status, part = 200, body
        if asked.startswith("bytes="):
            first, last = asked.removeprefix("bytes=").split("-")
            part = body[int(first) : int(last or len(body)) + 1]
            status = 206
            headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
        self._head(status, headers, len(part))
        if with_body:
            self.hub.sent_bytes += len(part)
            self.wfile.write(part)

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving(hub: FakeHub) -> Iterator[str]:
    """Serve a hub on a free port; yield its endpoint."""
    server = _Server(hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
