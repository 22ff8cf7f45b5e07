"""Words as numbers.

A vocabulary of the words that occur most often in the training texts. A word that is not in it is spelled with its
characters, so that no text is lost.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

PIECES = re.compile(r"[^\W\d_]+|\d|[^\w\s]|_")
PAD, START, UNKNOWN = "[PAD]", "[START]", "[UNKNOWN]"


class WordTokenizer:
    """Tokens of texts in small letters: words of the vocabulary, and characters for the rest."""

    pad_token = 0

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 4000) -> WordTokenizer:
        """The vocabulary of some texts: their characters, then their words by how often they occur."""
        words: Counter[str] = Counter()
        for text in texts:
            words.update(PIECES.findall(text.lower()))
        characters = sorted({character for word in words for character in word})
        special = [PAD, START, UNKNOWN, *(f"#{character}" for character in characters)]
        frequent = [word for word, count in words.most_common(max(0, vocab_size - len(special))) if count > 1]
        return cls([*special, *frequent])

    def encode(self, text: str) -> list[int]:
        """The numbers of a text, with the mark of a start before them."""
        found = [self.numbers[START]]
        for word in PIECES.findall(text.lower()):
            number = self.numbers.get(word)
            if number is not None:
                found.append(number)
            else:
                found += (self.numbers.get(f"#{character}", self.numbers[UNKNOWN]) for character in word)
        return found

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary as JSON."""
        Path(path).write_text(json.dumps(self.tokens, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> WordTokenizer:
        """Read a vocabulary."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))
