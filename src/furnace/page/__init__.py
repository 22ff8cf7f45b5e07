"""The page at `/`: what the model is, a form to try it, and how it is doing. One file, nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from furnace.http.messages import Response

_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data: blob:"
_KINDS = {"index.html": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8",
          "page.css": "text/css; charset=utf-8"}  # fmt: skip


@cache
def _text(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()


def page(name: str = "index.html") -> Response:
    """One of the page's files."""
    headers = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff", "cache-control": "no-cache"}
    return Response(200, _text(name), _KINDS[name], headers)
