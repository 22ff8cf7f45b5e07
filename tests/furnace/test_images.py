"""Pictures as requests: formats, what a model declares, and pictures that are none."""

from __future__ import annotations

import http.client
import io
import json
import struct
import zlib

import numpy as np
import pytest

pytest.importorskip("PIL", reason="pillow is not installed")

from PIL import Image

import furnace
from furnace.errors import ModelError
from furnace.models.preprocessing import declared
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler


def seer(shape=("batch", 3, 8, 8), preprocessing=None, datatype="FP32"):
    """A model that gives back the picture it was shown."""
    signature = Signature((TensorSpec("image", datatype, shape),), (TensorSpec("seen", datatype, shape),))
    return ServedModel("seer", "1", signature, lambda inputs: [inputs[0]], preprocessing=preprocessing)


def show(server, body, kind="image/png"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server.port, timeout=20)
    connection.request("POST", "/predict", body, {"content-type": kind})
    answer = connection.getresponse()
    text = json.loads(answer.read())
    connection.close()
    return answer.status, text


def encoded(pixels, form="PNG", **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    return out.getvalue()


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)


def test_a_png_becomes_the_input(pixels):
    with furnace.TestServer(seer()) as server:
        status, answer = show(server, encoded(pixels))
        assert status == 200
        assert np.allclose(answer["output"], pixels.transpose(2, 0, 1) / 255, atol=1e-6)


def test_a_jpeg_becomes_the_input():
    smooth = np.broadcast_to(np.arange(8, dtype=np.uint8)[:, None, None] * 30, (8, 8, 3))
    with furnace.TestServer(seer()) as server:
        body = encoded(np.ascontiguousarray(smooth), "JPEG", quality=95)
        status, answer = show(server, body, "image/jpeg; charset=binary")
        assert status == 200
        assert np.allclose(answer["output"], smooth.transpose(2, 0, 1) / 255, atol=0.03)


def test_what_the_model_declares_is_done(pixels):
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    steps = {"layout": "NHWC", "scale": 255.0, "mean": mean, "std": std, "mode": "RGB"}
    with furnace.TestServer(seer(("batch", 8, 8, 3), steps)) as server:
        answer = show(server, encoded(pixels))[1]
    assert np.allclose(answer["output"], (pixels / 255 - mean) / std, atol=1e-5)


def test_pixels_as_bytes_for_models_that_take_bytes(pixels):
    with furnace.TestServer(seer(preprocessing={"scale": 1}, datatype="UINT8")) as server:
        answer = show(server, encoded(pixels))[1]
    assert answer["output"] == pixels.transpose(2, 0, 1).tolist()


@pytest.mark.parametrize("fit, corner", [("stretch", 0.0), ("crop", 1.0), ("pad", 0.0)])
def test_a_picture_of_another_size_is_fitted(fit, corner):
    wide = np.zeros((8, 24), np.uint8)
    wide[:, 8:16] = 255
    with furnace.TestServer(seer(("batch", 1, 8, 8), {"fit": fit})) as server:
        status, answer = show(server, encoded(wide))
    seen = np.array(answer["output"])[0]
    assert status == 200
    assert seen.shape == (8, 8)
    assert np.isclose(seen[0, 0], corner, atol=0.05)
    assert seen[4, 4] > 0.9


def test_grey_pictures_with_transparency_are_read():
    with furnace.TestServer(seer(("batch", 1, 8, 8))) as server:
        both = np.full((8, 8, 4), 255, np.uint8)
        assert show(server, encoded(both))[0] == 200


def bomb():
    """A PNG that claims to be 20,000 pixels wide and high."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "body, kind, status, words",
    [
        (b"", "image/png", 400, "not a picture"),
        (b"nonsense", "image/png", 400, "not a picture"),
        (b"\x89PNG\r\n\x1a\n", "image/png", 400, "not a picture"),
        (b"GIF89a", "image/gif", 415, "send image/png or image/jpeg"),
        (b"<svg/>", "image/svg+xml", 415, "send image/png or image/jpeg"),
    ],
)
def test_what_is_no_picture_is_refused(body, kind, status, words):
    with furnace.TestServer(seer()) as server:
        found, answer = show(server, body, kind)
    assert found == status
    assert words in answer["error"]


def test_a_cut_picture_and_a_bomb_are_refused(pixels):
    with furnace.TestServer(seer()) as server:
        assert show(server, encoded(pixels)[:-30])[0] == 400
        assert show(server, encoded(pixels), "image/jpeg")[0] == 400
        status, answer = show(server, bomb())
        assert status == 400
        assert "limit" in answer["error"]


def test_a_model_without_pictures_says_so():
    with furnace.TestServer(doubler()) as server:
        status, answer = show(server, b"")
    assert status == 415
    assert "declare `preprocessing`" in answer["error"]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"mode": "CMYK"}, "mode is 'CMYK', expected one of L, RGB"),
        ({"layout": "NCWH"}, "layout is 'NCWH'"),
        ({"mode": "L"}, "mode 'L' has 1 channels"),
        ({"mean": [0.5]}, "mean is [0.5], expected a list of 3 numbers"),
        ({"std": [1.0, 0.0, 1.0]}, "std has a 0"),
        ({"scale": 0}, "scale is 0"),
        ({"size": [8]}, "size is [8], expected [height, width]"),
        ({"input": "other"}, "input is 'other', and the model has image"),
        (["RGB"], "expected an object"),
    ],
)
def test_wrong_declarations_are_named(settings, words):
    with pytest.raises(ModelError) as caught:
        declared(settings, seer().signature.inputs)
    assert words in str(caught.value)


def test_a_grey_picture_as_nested_lists_may_leave_its_channel_out():
    grey = np.arange(64, dtype=np.float32).reshape(8, 8)
    with furnace.TestServer(seer(("batch", 1, 8, 8))) as server, server.client() as client:
        for given in (grey, grey[None], grey[None, None], grey.reshape(-1)):
            assert client.predict(given.tolist()) == [grey.tolist()]
        with pytest.raises(furnace.ServerError, match="expected"):
            client.predict(grey.reshape(4, 16).tolist())
