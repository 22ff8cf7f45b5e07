"""What a server must not do, and must not let others do to it."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import time

import numpy as np
import pytest

import burn
import furnace
from furnace.errors import ModelError
from furnace.http.listener import ListenError
from furnace.models.opening import open_model
from tests.furnace.conftest import doubler


def ask(server, method="GET", path="/health", body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server.port, timeout=20)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def raw(server, data, seconds=20.0):
    """What comes back for bytes that are sent as they are, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.server.port), timeout=seconds) as sock:
        sock.sendall(data)
        pieces = []
        try:
            while piece := sock.recv(65536):
                pieces.append(piece)
        except ConnectionResetError:
            pass
        return b"".join(pieces)


# keys


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("# for people\n\nfirst-key\n  second-key  \n")
    with furnace.TestServer(doubler(), api_key_file=str(file)) as running:
        yield running


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 401),
        ({"Authorization": "Bearer first-key"}, 200),
        ({"Authorization": "bearer second-key"}, 200),
        ({"X-API-Key": "second-key"}, 200),
        ({"X-API-Key": "first-ke"}, 401),
        ({"X-API-Key": "first-key2"}, 401),
        ({"X-API-Key": ""}, 401),
        ({"X-API-Key": "# for people"}, 401),
        ({"Authorization": "Basic first-key"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"X-API-Key": "\xfc\xff"}, 401),
    ],
)
def test_only_the_keys_of_the_file_open(keyed, headers, status):
    found, answered, text = ask(keyed, path="/model/info", headers=headers)
    assert found == status
    if status == 401:
        assert answered["www-authenticate"] == "Bearer"
        assert json.loads(text)["code"] == "UNAUTHORIZED"
        assert b"first-key" not in text


@pytest.mark.parametrize("path", ["/predict", "/v2/models/doubler/infer", "/v1/models/doubler:predict"])
def test_every_inference_asks_for_a_key(keyed, path):
    assert ask(keyed, "POST", path, b"{}")[0] == 401


@pytest.mark.parametrize(
    "path", ["/metrics", "/model/info", "/openapi.json", "/v2", "/v2/models/doubler", "/v1/models"]
)
def test_what_tells_about_models_asks_for_a_key(keyed, path):
    assert ask(keyed, path=path)[0] == 401


@pytest.mark.parametrize("path", ["/health", "/v2/health/live", "/v2/health/ready", "/"])
def test_probes_and_the_page_need_none(keyed, path):
    assert ask(keyed, path=path)[0] == 200


def test_a_path_that_only_looks_open_is_not(keyed):
    for path in ("/health/../metrics", "//metrics", "/%6detrics", "/metrics?x=/health", "/metrics#/health"):
        assert ask(keyed, path=path)[0] in (401, 404)


def test_a_key_file_without_keys_is_refused(tmp_path):
    (tmp_path / "none").write_text("# nothing\n")
    with pytest.raises(ModelError, match="holds no key"):
        furnace.Server(doubler(), api_key_file=str(tmp_path / "none"))
    with pytest.raises(ModelError, match="--api-key-file"):
        furnace.Server(doubler(), api_key_file=str(tmp_path / "absent"))


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_tls_is_served_and_checked(certificate):
    cert, key = certificate
    with furnace.TestServer(doubler(), tls_cert=str(cert), tls_key=str(key)) as server:
        assert server.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(cert))
        with server.client(tls=trusted) as client:
            x = np.ones((1, 4), np.float32)
            assert client.infer({"x": x})["y"].tolist() == [[2.0] * 4]
            assert client._connection.sock.version() in ("TLSv1.2", "TLSv1.3")
        with pytest.raises(ssl.SSLCertVerificationError), server.client() as client:
            client.ready()
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)), server.client(tls=old) as client:
            client.ready()
        assert not raw(server, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_grpc_uses_the_same_certificate(certificate):
    grpc = pytest.importorskip("grpc", reason="grpcio is not installed")
    from furnace.grpc.messages import MESSAGES, SERVICE

    cert, key = certificate
    with furnace.TestServer(doubler(), tls_cert=str(cert), tls_key=str(key), grpc_port=0) as server:
        trusted = grpc.ssl_channel_credentials(cert.read_bytes())
        with grpc.secure_channel(f"localhost:{server.server.grpc_port}", trusted) as channel:
            live = channel.unary_unary(
                f"/{SERVICE}/ServerLive",
                request_serializer=MESSAGES["ServerLiveRequest"].SerializeToString,
                response_deserializer=MESSAGES["ServerLiveResponse"].FromString,
            )
            assert live(MESSAGES["ServerLiveRequest"](), timeout=20).live


def test_a_certificate_that_does_not_fit_is_named(tmp_path):
    (tmp_path / "cert.pem").write_text("nonsense")
    path = str(tmp_path / "cert.pem")
    with pytest.raises(ListenError, match="--tls-cert"), furnace.TestServer(doubler(), tls_cert=path, tls_key=path):
        pass


# limits


@pytest.fixture(scope="module")
def strict():
    limits = {"max_body_mb": 0.01, "header_timeout_s": 0.4, "body_timeout_s": 0.4, "max_connections": 20}
    with furnace.TestServer(doubler(), max_elements=64, **limits) as running:
        yield running


def test_a_body_above_the_limit_is_refused_before_it_is_read(strict):
    head = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n"
    assert raw(strict, head).startswith(b"HTTP/1.1 413 ")
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    chunked = b"POST /predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + chunk * 4
    assert raw(strict, chunked).startswith(b"HTTP/1.1 413 ")


def test_headers_above_the_limits_are_refused(strict):
    many = b"".join(b"x-%d: y\r\n" % i for i in range(200))
    assert raw(strict, b"GET /health HTTP/1.1\r\n" + many + b"\r\n").startswith(b"HTTP/1.1 431 ")
    assert raw(strict, b"GET /health HTTP/1.1\r\nx: " + b"y" * 40_000)[:13] in (b"HTTP/1.1 431 ", b"HTTP/1.1 400 ")
    assert raw(strict, b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 414 ")


@pytest.mark.parametrize(
    "data",
    [
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 1e3\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /health HTTP/1.1\r\nhost: x\r\n bad: folded\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost : x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 64,
    ],
)
def test_what_could_smuggle_a_request_is_refused_and_the_connection_closed(strict, data):
    assert raw(strict, data).startswith(b"HTTP/1.1 400 ")


def test_an_input_with_too_many_elements_is_refused(strict):
    status, _, text = ask(strict, "POST", "/predict", json.dumps({"inputs": {"x": [[0, 0, 0, 0]] * 20}}))
    assert status == 400
    assert "80 elements, the limit is 64" in json.loads(text)["error"]


def test_a_client_that_sends_byte_by_byte_is_closed_and_blocks_nobody(strict):
    begin = time.monotonic()
    slow = [socket.create_connection(("127.0.0.1", strict.server.port), timeout=10) for _ in range(8)]
    closed = [False] * len(slow)
    try:
        text = b"GET /health HTTP/1.1\r\nx: " + b"y" * 1000
        for step in range(1000):
            for place, sock in enumerate(slow):
                if closed[place]:
                    continue
                try:
                    sock.sendall(text[step : step + 1])
                    sock.setblocking(False)
                    closed[place] = sock.recv(4096)[:12] == b"HTTP/1.1 408"
                except BlockingIOError:
                    pass
                except ConnectionError:
                    closed[place] = True
                finally:
                    sock.setblocking(True)
            if all(closed):
                break
            assert ask(strict)[0] == 200  # others are served all the while
            time.sleep(0.02)
        assert all(closed)
        assert time.monotonic() - begin < 8
    finally:
        for sock in slow:
            sock.close()


def test_a_body_that_comes_too_slowly_is_ended(strict):
    head = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"
    assert raw(strict, head, 10).startswith(b"HTTP/1.1 408 ")


def test_empty_lines_do_not_keep_a_connection(strict):
    with socket.create_connection(("127.0.0.1", strict.server.port), timeout=10) as sock:
        answer = b""
        for _ in range(200):
            try:
                sock.sendall(b"\r\n")
                sock.settimeout(0.02)
                answer = sock.recv(4096)
                break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert answer[:12] in (b"HTTP/1.1 408", b"")


def test_connections_above_the_limit_are_told_so(strict):
    held = [socket.create_connection(("127.0.0.1", strict.server.port), timeout=10) for _ in range(20)]
    try:
        for sock in held:
            sock.sendall(b"G")
        time.sleep(0.1)
        with socket.create_connection(("127.0.0.1", strict.server.port), timeout=10) as last:
            assert last.recv(4096).startswith(b"HTTP/1.1 503 ")
    finally:
        for sock in held:
            sock.close()


# what is off until it is asked for


def test_browsers_of_other_origins_are_let_in_only_by_name(server):
    origin = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in ask(server, headers=origin)[1]
    assert ask(server, "OPTIONS", "/predict", headers=origin)[0] == 405
    with furnace.TestServer(doubler(), cors_origin=("https://example.org",)) as allowing:
        status, headers, _ = ask(allowing, "OPTIONS", "/predict", headers=origin)
        assert (status, headers["access-control-allow-origin"]) == (204, "https://example.org")
        assert headers["vary"] == "origin"
        other = ask(allowing, headers={"Origin": "https://example.com"})[1]
        assert "access-control-allow-origin" not in other


def test_models_are_not_loaded_by_clients_unless_allowed(server):
    for action in ("load", "unload"):
        status, _, text = ask(server, "POST", f"/v2/repository/models/doubler/{action}", b"")
        assert (status, json.loads(text)["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/page.js/../../app.py",
        "/page.css%00.py",
        "/v2/models/..%2f..%2fetc%2fpasswd",
        "/v2/models/../../etc/passwd/infer",
        "/models/%2Fetc%2Fpasswd/info",
        "/static/../server.py",
    ],
)
def test_no_path_of_a_request_reaches_a_file(server, path):
    status, _, text = ask(server, path=path)
    assert status in (404, 405)
    assert b"root:" not in text


def test_names_of_a_repository_never_become_paths(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "model.onnx").write_bytes(b"never read")
    repository = tmp_path / "repository"
    repository.mkdir()
    options = {"model_repository": str(repository), "allow_repository_control": True}
    with furnace.TestServer(**options) as server:
        for name in ("..%2foutside", "%2e%2e%2foutside", "..", f"{tmp_path}/outside".replace("/", "%2f"), "%00", "."):
            status, _, text = ask(server, "POST", f"/v2/repository/models/{name}/load", b"")
            assert status == 404, text


# code beside a model


@pytest.fixture
def imported(tmp_path):
    """A model that burn-import wrote without its program, so that only the source can run it."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from burn_import.onnx.command import main

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "one"], ["y"])], "g",
        [helper.make_tensor_value_info("x", kind, ["batch", 2])],
        [helper.make_tensor_value_info("y", kind, ["batch", 2])],
        [helper.make_tensor("one", kind, [2], [1.0, 1.0])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), tmp_path / "add.onnx")
    assert main(["--input", str(tmp_path / "add.onnx"), "--output", str(tmp_path / "add"), "--quiet"]) == 0
    described = json.loads((tmp_path / "add.json").read_text())
    described["program"] = None
    (tmp_path / "add.json").write_text(json.dumps(described))
    return tmp_path / "add.mpk"


def test_source_runs_only_when_allowed_and_unchanged(imported):
    device = burn.NdArray()
    with pytest.raises(ModelError):
        open_model(imported, device)
    model = open_model(imported, device, allow_source=True)
    assert model.run([np.zeros((1, 2), np.float32)])[0].tolist() == [[1.0, 1.0]]
    source, mark = imported.with_suffix(".py"), imported.with_name("ran")
    source.write_text(f"open({str(mark)!r}, 'w').close()\n" + source.read_text())
    with pytest.raises(ModelError, match="checksum"):
        open_model(imported, device, allow_source=True)
    assert not mark.exists()


def test_a_repository_never_runs_source(imported, tmp_path):
    folder = tmp_path / "repository" / "add" / "1"
    folder.mkdir(parents=True)
    for each in (imported, imported.with_suffix(".json"), imported.with_suffix(".py")):
        shutil.copy(each, folder / each.name)
    mark = tmp_path / "ran"
    (folder / "add.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    with furnace.TestServer(model_repository=str(tmp_path / "repository"), allow_source=True) as server:
        status, _, text = ask(server, "POST", "/v2/repository/index", b"")
        assert status == 200
        assert [each["state"] for each in json.loads(text)] == ["UNAVAILABLE"]
    assert not mark.exists()


def test_no_source_is_made_of_a_model_to_serve_it(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from burn_import.onnx import ModelGen, modules

    def refuse(*args, **kwargs):
        raise AssertionError("source was made")

    text = '<ir_version: 8, opset_import: ["": 17]> graph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "relu.onnx")
    made = ModelGen().input(tmp_path / "relu.onnx").out_dir(tmp_path / "files").run_from_cli()[0]
    monkeypatch.setattr(modules, "compiled", refuse)
    monkeypatch.setattr("burn_import.onnx.stored.opening.compiled", refuse)
    x = np.array([[1.0, -2.0]], np.float32)
    for path in (tmp_path / "relu.onnx", made.weights):
        model = open_model(path, burn.Cpu())
        for _ in range(3):
            (y,) = model.run([x])
            assert y.tolist() == [[1.0, 0.0]]
