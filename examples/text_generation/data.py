"""Text as windows of tokens: what comes before, and what comes next.

The texts are those of a file, or the entries of DbPedia through the `datasets` library (which needs a network the first
time). Without either, they are the Proverbs and Ecclesiastes of the King James Bible, which are bundled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burn import Device, Tensor
from burn.data.dataloader import Batcher
from burn.data.dataset import Dataset, HuggingfaceDatasetLoader
from burn.errors import DataError
from examples.text_generation.tokenizer import BytePairTokenizer

PROVERBS = Path(__file__).with_name("proverbs.txt")
Tokens = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass
class DbPediaItem:
    """A row of DbPedia."""

    content: str


def texts_of(name: str, limit: int) -> list[str]:
    """The texts to learn from: of DbPedia, `limit` at most, or those of a file."""
    if name == "dbpedia":
        rows = HuggingfaceDatasetLoader("dbpedia_14").dataset("train", DbPediaItem)
        return [rows[index].content for index in range(min(limit, len(rows)))]
    return [Path(PROVERBS if name == "proverbs" else name).read_text(encoding="utf-8")]


def tokens_of(texts: Sequence[str], tokenizer: BytePairTokenizer) -> Tokens:
    """All texts in a row, each with the mark of its end."""
    return np.array([token for text in texts for token in (*tokenizer.encode(text), tokenizer.end_token)], np.int64)


class TextWindows(Dataset[Tokens]):
    """Windows of `length` tokens and the one after them; each begins half a window after the one before."""

    def __init__(self, tokens: Tokens, length: int) -> None:
        self.tokens, self.length = tokens, length
        self.stride = max(1, length // 2)
        if len(tokens) <= length:
            raise DataError(f"text: {len(tokens)} tokens are too few for windows of {length}; give more text")

    def get(self, index: int) -> Tokens | None:
        """The window of that number."""
        if not 0 <= index < self.len():
            return None
        begin = index * self.stride
        return self.tokens[begin : begin + self.length + 1]

    def len(self) -> int:
        """How many windows there are."""
        return (len(self.tokens) - self.length - 1) // self.stride + 1


@dataclass
class TextGenerationBatch:
    """Tokens (batch, length), and for each the one that follows it."""

    tokens: Tensor
    targets: Tensor


class TextGenerationBatcher(Batcher[Tokens, TextGenerationBatch]):
    """Makes batches of windows."""

    def batch(self, items: list[Tokens], device: Device) -> TextGenerationBatch:
        """All but the last token, and all but the first."""
        windows = np.stack(items)
        tokens, targets = (np.ascontiguousarray(each) for each in (windows[:, :-1], windows[:, 1:]))
        return TextGenerationBatch(Tensor.from_data(tokens, device), Tensor.from_data(targets, device))
