"""Byte pairs as tokens.

A text is bytes. The pair of neighbours that occurs most often becomes a token of its own, again and again, until there
are as many tokens as wanted. Every text can be encoded, and decoding gives the same bytes back. Pairs never reach
across words, so learning looks at each different word once.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

WORDS = re.compile(rb"\s*[^\W\d_]+|\s*\d|\s*[^\w\s]+|\s+|_")
Pair = tuple[int, int]


class BytePairTokenizer:
    """Tokens 0 to 255 are bytes, 256 marks the end of a text, and later ones are pairs, as they were learned."""

    end_token = 256

    def __init__(self, merges: Sequence[Pair]) -> None:
        self.merges = [(int(left), int(right)) for left, right in merges]
        self.ranks = {pair: number for number, pair in enumerate(self.merges, 257)}
        self.pieces = [bytes([byte]) for byte in range(256)] + [b""]
        for left, right in self.merges:
            self.pieces.append(self.pieces[left] + self.pieces[right])
        self._known: dict[bytes, list[int]] = {}

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 512) -> BytePairTokenizer:
        """Learn pairs from texts."""
        counts: Counter[bytes] = Counter()
        for text in texts:
            counts.update(WORDS.findall(text.encode()))
        words = [(list(word), count) for word, count in counts.items()]
        pairs: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, (word, count) in enumerate(words):
            for pair in itertools.pairwise(word):
                pairs[pair] += count
                places[pair].add(index)
        merges: list[Pair] = []
        while 257 + len(merges) < vocab_size and pairs:
            # Of equally frequent pairs the smallest, so that the same texts always give the same tokens.
            best = max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1]))
            if pairs[best] < 2:
                break
            for index in places.pop(best):
                word, count = words[index]
                for pair in itertools.pairwise(word):
                    pairs[pair] -= count
                word[:] = _merged(word, best, 257 + len(merges))
                for pair in itertools.pairwise(word):
                    pairs[pair] += count
                    places[pair].add(index)
            del pairs[best]
            merges.append(best)
        return cls(merges)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        found: list[int] = []
        for word in WORDS.findall(text.encode()):
            tokens = self._known.get(word)
            if tokens is None:
                tokens = self._known[word] = self._split(word)
            found += tokens
        return found

    def _split(self, word: bytes) -> list[int]:
        tokens = list(word)
        while len(tokens) > 1:
            first = min(itertools.pairwise(tokens), key=lambda pair: self.ranks.get(pair, len(self.pieces)))
            if first not in self.ranks:
                break
            tokens = _merged(tokens, first, self.ranks[first])
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens. Bytes that are no text, such as half of a letter, are shown as a mark."""
        return b"".join(self.pieces[token] for token in tokens).decode(errors="replace")

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.pieces)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the pairs as JSON."""
        Path(path).write_text(json.dumps(self.merges), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> BytePairTokenizer:
        """Read pairs."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))


def _merged(word: list[int], pair: Pair, token: int) -> list[int]:
    """A word with each occurrence of a pair as one token."""
    result: list[int] = []
    at = 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            result.append(token)
            at += 2
        else:
            result.append(word[at])
            at += 1
    return result
