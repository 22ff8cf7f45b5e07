"""A client for programs.

    with furnace.Client("http://127.0.0.1:3000") as client:
        scores = client.infer({"image": array})["scores"]

Arrays travel as bytes. One connection is kept; a broken one is opened again once. For asyncio there is `AsyncClient`.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from furnace.client.messages import check, infer_request, infer_response
from furnace.datatypes import Array
from furnace.protocols.binary import HEADER


class Client:
    """Talks to a server. Not for several threads at once: give each its own. Arrays travel as bytes.

    `url` is where the server is, `api_key` is sent with each request, `timeout` is in seconds, `tls` is for HTTPS.

    >>> import furnace
    >>> inputs = [furnace.TensorSpec("x", "FP32", ("batch", 4))]
    >>> with furnace.TestServer(nn.Linear(4, 2), inputs=inputs, name="linear") as server:
    ...     with furnace.Client(server.url) as client:
    ...         print(client.models(), client.ready("linear"))
    ...         print(client.infer({"x": np.ones((3, 4), np.float32)}, model="linear").keys())
    ['linear'] True
    dict_keys(['output'])
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url if "//" in url else f"//{url}", "http")
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port
        self._secure, self._tls = parts.scheme == "https", tls
        self._timeout = timeout
        self._headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        self._connection: http.client.HTTPConnection | None = None

    def infer(
        self,
        inputs: Mapping[str, Any],
        *,
        model: str | None = None,
        version: str | None = None,
        outputs: Sequence[str] | None = None,
        binary: bool = True,
        timeout: float | None = None,
    ) -> dict[str, Array]:
        """The outputs by name for arrays by name (`inputs`).

        `model` may be left out where there is one; `version` is the newest without one; `outputs` names those that are
        wanted; `binary` sends arrays as bytes, not as JSON; `timeout` lets the server give up, in seconds.
        """
        body, headers = infer_request(inputs, outputs, binary, timeout)
        path = model_path(model or self._only_model(), version) + "/infer"
        answer, kept = self._request("POST", path, body, headers)
        return infer_response(answer, kept.get(HEADER))

    def predict(self, value: Any, *, model: str | None = None) -> Any:
        """Furnace's JSON: `value` is one item, a list or an object of inputs; gives what stands under "output"."""
        path = "/predict" if model is None else f"/models/{quote(model, safe='')}/predict"
        body = orjson.dumps({"input": value}, option=orjson.OPT_SERIALIZE_NUMPY)
        return self._json("POST", path, body, {"content-type": "application/json"})["output"]

    def ready(self, model: str | None = None) -> bool:
        """Whether the server, or one model, answers."""
        path = "/v2/health/ready" if model is None else model_path(model, None) + "/ready"
        return self._raw("GET", path, b"", {})[0] == 200

    def metadata(self, model: str | None = None) -> Any:
        """What the server, or one model, says of itself."""
        return self._json("GET", "/v2" if model is None else model_path(model, None))

    def info(self, model: str | None = None) -> Any:
        """The card of a model with its statistics."""
        return self._json("GET", "/model/info" if model is None else f"/models/{quote(model, safe='')}/info")

    def models(self) -> list[str]:
        """The names of the models."""
        found: list[str] = self._json("GET", "/v1/models")["models"]
        return found

    def load(self, model: str) -> None:
        """Load a model of the repository, where the server allows it."""
        self._json("POST", f"/v2/repository/models/{quote(model, safe='')}/load")

    def unload(self, model: str) -> None:
        """Take a model out of service, where the server allows it."""
        self._json("POST", f"/v2/repository/models/{quote(model, safe='')}/unload")

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _only_model(self) -> str:
        return only(self.models())

    def _json(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
        return orjson.loads(self._request(method, path, body, headers or {})[0])

    def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
        status, kept, answer = self._raw(method, path, body, headers)
        check(status, answer)
        return answer, kept

    def _raw(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        fresh = self._connection is None
        try:
            return self._exchange(method, path, body, headers)
        except (http.client.HTTPException, ConnectionError):
            self.close()
            if fresh:
                raise
            return self._exchange(method, path, body, headers)

    def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        if self._connection is None:
            self._connection = self._opened()
        self._connection.request(method, path, body, {**self._headers, **headers})
        answer = self._connection.getresponse()
        data = answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data

    def _opened(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def model_path(name: str, version: str | None) -> str:
    """The path of a model in the Open Inference Protocol."""
    path = f"/v2/models/{quote(name, safe='')}"
    return path if version is None else f"{path}/versions/{quote(version, safe='')}"


def only(names: list[str]) -> str:
    """The only name; an error that lists them when there are several."""
    if len(names) != 1:
        raise ValueError(f"infer: the server has {len(names)} models; give model= one of {', '.join(names) or 'none'}")
    return names[0]
