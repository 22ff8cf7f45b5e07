"""MLServer with a custom runtime around ONNX Runtime and its adaptive batching on (in `model-settings.json`)."""

import os

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class Runtime(MLModel):
    async def load(self) -> bool:
        self.session = onnxruntime.InferenceSession(os.environ["SERVING_MODEL"], providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        x = self.decode(payload.inputs[0], default_codec=NumpyCodec)
        scores = self.session.run(None, {"image": x})[0]
        return InferenceResponse(
            model_name=self.name, outputs=[NumpyCodec.encode_output("scores", scores)], id=payload.id
        )
