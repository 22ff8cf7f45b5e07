"""LitServe with ONNX Runtime and its batching on. Binary tensors come as a file of a form, the one way it has."""

import os
import sys
from typing import Any

import litserve
import numpy as np
import onnxruntime

SHAPE = tuple(int(size) for size in os.environ["SERVING_SHAPE"].split(","))


class Model(litserve.LitAPI):
    def setup(self, device: str) -> None:
        self.session = onnxruntime.InferenceSession(os.environ["SERVING_MODEL"], providers=["CPUExecutionProvider"])

    def decode_request(self, request):  # type: ignore[no-untyped-def]  # a type here would mean another body
        if "file" in request:
            return np.frombuffer(request["file"].file.read(), np.float32).reshape(SHAPE)
        return np.array(request["input"], np.float32).reshape(SHAPE)

    def batch(self, inputs: Any) -> Any:
        return np.stack(inputs)

    def predict(self, x: Any) -> Any:
        return self.session.run(None, {"image": x})[0]

    def unbatch(self, output: Any) -> Any:
        return list(output)

    def encode_response(self, output: Any) -> Any:
        return {"output": output.tolist()}


if __name__ == "__main__":
    api = Model(max_batch_size=32, batch_timeout=0.0005)
    server = litserve.LitServer(api, accelerator="cpu")
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
