"""Texts as tensors of token numbers, all of one length: a captured step then has one shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burn import Device, Tensor
from burn.data.dataloader import Batcher
from burn.nn.attention import SeqLengthOption, generate_padding_mask
from examples.text_classification.dataset import TextClassificationItem
from examples.text_classification.tokenizer import WordTokenizer


@dataclass
class TextClassificationInferenceBatch:
    """Tokens (batch, length), and where they are padding."""

    tokens: Tensor
    mask_pad: Tensor


@dataclass
class TextClassificationTrainingBatch(TextClassificationInferenceBatch):
    """The same, and the classes (batch,)."""

    labels: Tensor


class TextClassificationBatcher(Batcher[TextClassificationItem, TextClassificationTrainingBatch]):
    """Makes batches of texts."""

    def __init__(self, tokenizer: WordTokenizer, max_seq_length: int) -> None:
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length

    def batch(self, items: list[TextClassificationItem], device: Device) -> TextClassificationTrainingBatch:
        """Texts to train with."""
        inputs = self.batch_texts([item.text for item in items], device)
        labels = np.array([item.label for item in items], np.int64)
        return TextClassificationTrainingBatch(inputs.tokens, inputs.mask_pad, Tensor.from_data(labels, device))

    def batch_texts(self, texts: list[str], device: Device) -> TextClassificationInferenceBatch:
        """Texts to classify."""
        tokens = [self.tokenizer.encode(text) for text in texts]
        length = SeqLengthOption.Fixed(self.max_seq_length)
        padded = generate_padding_mask(self.tokenizer.pad_token, tokens, length, device)
        return TextClassificationInferenceBatch(padded.tensor, padded.mask)
