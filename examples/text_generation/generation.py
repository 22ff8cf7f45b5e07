"""Generation: one token is drawn after the other, from what the model thinks likely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import burn
from burn.prelude import Device, Tensor
from burn.record import CompactRecorder
from examples.text_generation.model import TextGenerationModel, TextGenerationModelConfig
from examples.text_generation.tokenizer import BytePairTokenizer


def load(artifact_dir: str | Path, device: Device) -> tuple[TextGenerationModel, BytePairTokenizer]:
    """The model of a training, and its tokens."""
    folder = Path(artifact_dir)
    config = TextGenerationModelConfig.load(folder / "model.json")
    return config.init(device).load_file(folder / "model", CompactRecorder()), BytePairTokenizer.load(
        folder / "tokens.json"
    )


def generate(
    model: TextGenerationModel,
    tokenizer: BytePairTokenizer,
    prompt: str,
    length: int = 200,
    temperature: float = 0.8,
    top_k: int = 40,
    seed: int = 0,
) -> Iterator[str]:
    """The texts of the tokens that follow a prompt, as they are drawn."""
    random = np.random.default_rng(seed)
    window = model.embedding_pos.weight.dims()[0]
    device = model.devices()[0]
    tokens = tokenizer.encode(prompt) or [tokenizer.end_token]
    forward = burn.compile(model.forward, notice=lambda reason: None)
    written = b""
    for _ in range(length):
        # Always a whole window, so that the captured function has one shape; what lies after the text is not seen.
        seen = tokens[-window:]
        padded = np.array([seen + [tokenizer.end_token] * (window - len(seen))], np.int64)
        logits = forward(Tensor.from_data(padded, device)).numpy()[0, len(seen) - 1].astype(np.float64)
        token = _draw(logits, temperature, top_k, random)
        if token == tokenizer.end_token:
            return
        tokens.append(token)
        # Letters of several bytes may come in several tokens.
        written += tokenizer.pieces[token]
        text = written.decode(errors="ignore")
        if text:
            written = written[len(text.encode()) :]
            yield text


def _draw(
    logits: np.ndarray[tuple[int], np.dtype[np.float64]], temperature: float, top_k: int, random: np.random.Generator
) -> int:
    """A token of the `top_k` most likely ones; at temperature 0 the first of them."""
    if temperature <= 0:
        return int(logits.argmax())
    best = np.argsort(logits)[-top_k:]
    shares = np.exp((logits[best] - logits[best].max()) / temperature)
    return int(random.choice(best, p=shares / shares.sum()))
