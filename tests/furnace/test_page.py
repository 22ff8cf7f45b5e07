"""The page in a real browser: it loads, shows the model, takes JSON, drawings and pictures, and plots what happens."""

from __future__ import annotations

import http.client
import io
import json

import numpy as np
import pytest

import furnace
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.browser import Browser
from tests.furnace.conftest import doubler


def quadrants(inputs):
    """How bright each quarter of a picture is."""
    halves = inputs[0].reshape(len(inputs[0]), 2, 14, 2, 14)
    return [halves.mean((2, 4)).reshape(-1, 4)]


def quadrant_model():
    signature = Signature(
        (TensorSpec("image", "FP32", ("batch", 1, 28, 28)),), (TensorSpec("brightness", "FP32", ("batch", 4)),)
    )
    return ServedModel("quadrants", "1", signature, quadrants)


@pytest.fixture(scope="module")
def pages():
    """A server with two models, and a browser at its page."""
    with furnace.TestServer(quadrant_model()) as server:
        server.server.hub.add(doubler())
        with Browser() as browser:
            browser.open(server.url + "/")
            browser.wait("document.querySelectorAll('#model option').length === 2 && state.info")
            yield server, browser


def choose(browser, name):
    browser.value(f"chooseModel({json.dumps(name)}).then(() => true)")
    browser.value(f"document.getElementById('model').value = {json.dumps(name)}; true")


def answer(browser):
    browser.wait("document.getElementById('answer').textContent.startsWith('{')")
    return json.loads(browser.value("document.getElementById('answer').textContent"))


def fresh(browser):
    browser.value("document.getElementById('answer').textContent = ''; true")


def test_the_card_tells_what_the_model_takes(pages):
    _, browser = pages
    choose(browser, "doubler")
    browser.wait("document.getElementById('health').textContent === 'healthy'")
    assert "up to 32 rows" in browser.text("#card")
    rows = browser.text("#tensors").split("\n")
    assert [each.split() for each in rows[-2:]] == [
        ["input", "x", "FP32", "[batch,", "4]"],
        ["output", "y", "FP32", "[batch,", "4]"],
    ]


def test_json_is_run_and_shown_as_bars(pages):
    _, browser = pages
    choose(browser, "doubler")
    fresh(browser)
    browser.value("document.getElementById('body').value = '{\"input\": [1, 4, 2, 3]}'; true")
    browser.click("#send")
    assert answer(browser)["output"] == [2, 8, 4, 6]
    assert browser.text(".bar.best").split() == ["1", "8.000"]
    assert "ms in the server" in browser.text("#took")
    assert f"curl {pages[0].url}/models/doubler/predict" in browser.value("document.getElementById('curl').textContent")


def test_what_is_wrong_is_shown(pages):
    _, browser = pages
    choose(browser, "doubler")
    fresh(browser)
    browser.value("document.getElementById('body').value = '{\"input\": [1]}'; true")
    browser.click("#send")
    assert "expected 4" in answer(browser)["error"]
    assert browser.value("document.getElementById('answer').classList.contains('bad')")
    assert browser.text("#bars") == ""


def test_a_drawing_is_run_when_the_pen_is_lifted(pages):
    _, browser = pages
    choose(browser, "quadrants")
    fresh(browser)
    browser.click("#clear")
    browser.draw("#canvas", [(0.6, 0.6), (0.8, 0.6), (0.8, 0.8), (0.6, 0.8)])
    output = answer(browser)["output"]
    assert int(np.argmax(output)) == 3
    assert output[0] < 0.01 < output[3] <= 1
    assert browser.text(".bar.best").split()[0] == "3"


def test_a_picture_is_run(pages, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    pixels = np.zeros((56, 56), np.uint8)
    pixels[:28, 28:] = 255
    image.fromarray(pixels).save(tmp_path / "corner.png")
    _, browser = pages
    choose(browser, "quadrants")
    fresh(browser)
    browser.click("[data-tab=image]")
    browser.choose_file("#file", tmp_path / "corner.png")
    browser.wait("state.file && !document.getElementById('preview').hidden")
    browser.click("#send")
    assert np.allclose(answer(browser)["output"], [0, 1, 0, 0], atol=0.05)


def test_requests_of_others_are_plotted(pages):
    server, browser = pages
    choose(browser, "doubler")
    browser.wait("state.last")
    with server.client() as client:
        for _ in range(20):
            client.infer({"x": np.ones((1, 4), np.float32)}, model="doubler")
    browser.wait("state.rates.some((each) => each > 1)")
    assert browser.value("document.querySelectorAll('#rate-plot polyline').length") == 1
    assert browser.value("document.querySelectorAll('#latency-plot polyline').length") == 2


def test_nothing_on_the_page_complains(pages):
    _, browser = pages
    choose(browser, "quadrants")
    browser.value("new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert [each for each in browser.complaints if "400" not in each] == []
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")


def test_a_key_is_asked_for_and_used(tmp_path):
    (tmp_path / "keys").write_text("secret\n")
    with furnace.TestServer(doubler(), api_key_file=str(tmp_path / "keys")) as server, Browser() as browser:
        browser.open(server.url + "/")
        browser.wait("document.getElementById('key-label') && !document.getElementById('key-label').hidden")
        browser.click("#key")
        browser.call("Input.insertText", text="secret")
        browser.value("document.getElementById('key').blur(); true")
        browser.wait("state.info")
        browser.click("#send")
        assert answer(browser)["output"] == [0, 0, 0, 0]


def test_the_page_allows_nothing_from_elsewhere():
    with furnace.TestServer(doubler()) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server.port, timeout=20)
        for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
            connection.request("GET", path)
            got = connection.getresponse()
            text = io.TextIOWrapper(got).read()
            assert got.headers["content-type"].startswith(kind)
            assert "default-src 'self'" in got.headers["content-security-policy"]
            assert "https://" not in text
        connection.close()
