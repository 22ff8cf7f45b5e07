"""Inference: the classes of texts, by a model that was trained before."""

from __future__ import annotations

import json
from pathlib import Path

from burn.prelude import Device
from burn.record import CompactRecorder
from examples.text_classification.batcher import TextClassificationBatcher
from examples.text_classification.model import TextClassificationModelConfig
from examples.text_classification.tokenizer import WordTokenizer


def infer(device: Device, artifact_dir: str | Path, texts: list[str]) -> list[tuple[str, float]]:
    """The class of each text and its probability."""
    folder = Path(artifact_dir)
    config = TextClassificationModelConfig.load(folder / "model.json")
    tokenizer = WordTokenizer.load(folder / "vocabulary.json")
    classes = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
    model = config.init(device).load_file(folder / "model", CompactRecorder())
    batch = TextClassificationBatcher(tokenizer, config.max_seq_length).batch_texts(texts, device)
    shares = model.infer(batch).numpy()
    return [(classes[int(row.argmax())], float(row.max())) for row in shares]
