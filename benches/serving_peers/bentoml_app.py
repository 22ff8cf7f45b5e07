"""BentoML with ONNX Runtime and its adaptive batching on."""

import os
from typing import Annotated

import bentoml
import numpy as np
import onnxruntime
from bentoml.validators import ContentType

SHAPE = (-1, *(int(size) for size in os.environ["SERVING_SHAPE"].split(",")))


@bentoml.service(workers=1, metrics={"enabled": False}, logging={"access": {"enabled": False}})
class Model:
    def __init__(self) -> None:
        self.session = onnxruntime.InferenceSession(os.environ["SERVING_MODEL"], providers=["CPUExecutionProvider"])

    @bentoml.api(batchable=True, max_batch_size=32, max_latency_ms=1000)
    def predict(self, input: np.ndarray) -> np.ndarray:
        x = np.asarray(input, np.float32).reshape(SHAPE)
        return self.session.run(None, {"image": x})[0]

    @bentoml.api
    def binary(self, data: Annotated[bytes, ContentType("application/octet-stream")], /) -> bytes:
        x = np.frombuffer(data, np.float32).reshape(SHAPE)
        return self.session.run(None, {"image": x})[0].tobytes()
