"""FastAPI with ONNX Runtime: one session, JSON through a pydantic model, and the bytes of a tensor as they are.

The JSON handler is a plain function, so FastAPI runs it in its thread pool; the other awaits the body, then runs.
"""

import os

import numpy as np
import onnxruntime
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

SHAPE = (-1, *(int(size) for size in os.environ["SERVING_SHAPE"].split(",")))
session = onnxruntime.InferenceSession(os.environ["SERVING_MODEL"], providers=["CPUExecutionProvider"])
app = FastAPI()


class Item(BaseModel):
    input: list[float]


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "healthy"}


@app.post("/predict")
def predict(item: Item) -> dict[str, list[float]]:
    x = np.array(item.input, np.float32).reshape(SHAPE)
    return {"output": session.run(None, {"image": x})[0][0].tolist()}


@app.post("/binary")
async def binary(request: Request) -> Response:
    x = np.frombuffer(await request.body(), np.float32).reshape(SHAPE)
    return Response(session.run(None, {"image": x})[0].tobytes(), media_type="application/octet-stream")
