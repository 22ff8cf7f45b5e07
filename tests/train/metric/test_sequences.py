"""Metrics of texts: against torchmetrics, torch, and recurrences written cell by cell."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from burn.errors import ArgumentError, ShapeError
from burn.train.metric import (
    BleuInput,
    BleuScore,
    BleuSmoothing,
    CerInput,
    CharErrorRate,
    PerplexityInput,
    PerplexityMetric,
    RougeLInput,
    RougeLScore,
    WerInput,
    WordErrorRate,
)
from tests.train.metric.epochs import TOTAL, epoch, once, scores

WORDS = "the a cat dog sat ran on under mat tree and then slept".split()


def texts(seed: int, count: int = TOTAL) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(4, 12))) for _ in range(count)]


def near(lines: list[str], seed: int) -> list[str]:
    """The same lines with some words left out, replaced or added."""
    random = np.random.default_rng(seed)
    result = []
    for line in lines:
        words = [str(random.choice(WORDS)) if random.random() < 0.15 else word for word in line.split()]
        words = [word for word in words if random.random() > 0.1]
        result.append(" ".join([*words, "end"] if random.random() < 0.3 else words))
    return result


def edits(a, b) -> int:
    @functools.cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return distance(len(a), len(b))


@pytest.mark.parametrize("metric, item, cut", [(CharErrorRate, CerInput, list), (WordErrorRate, WerInput, str.split)])
def test_error_rates_of_strings(metric, item, cut) -> None:
    wanted = texts(1)
    given = near(wanted, 2)
    expected = 100 * sum(edits(cut(a), cut(b)) for a, b in zip(given, wanted)) / sum(len(cut(b)) for b in wanted)
    assert epoch(metric(), item, given, wanted) == pytest.approx(expected)
    text = pytest.importorskip("torchmetrics.functional.text", reason="needs torchmetrics to compare with")
    theirs = (text.char_error_rate if metric is CharErrorRate else text.word_error_rate)(given, wanted)
    assert expected == pytest.approx(100 * float(theirs), rel=1e-5)


def test_error_rates_of_token_numbers_end_at_the_padding() -> None:
    given, wanted = np.array([[1, 2, 3, 0], [4, 0, 0, 0]]), np.array([[1, 3, 0, 0], [4, 5, 6, 0]])
    assert once(CharErrorRate(pad_token=0), CerInput(given, wanted)) == 100 * 3 / 5
    assert once(WordErrorRate().with_pad_token(0), WerInput(given, wanted)) == 100 * 3 / 5
    assert once(CharErrorRate(), CerInput(given, wanted)) == 100 * 4 / 8


def test_error_rates_of_empty_texts() -> None:
    assert once(CharErrorRate(), CerInput([""], ["ab"])) == 100.0
    assert once(CharErrorRate(), CerInput(["abc", ""], ["a", ""])) == 200.0
    assert once(CharErrorRate(), CerInput([""], [""])) == 0.0


@pytest.mark.parametrize("max_n", [1, 2, 4])
def test_bleu(max_n: int) -> None:
    text = pytest.importorskip("torchmetrics.functional.text", reason="needs torchmetrics to compare with")
    wanted = texts(3)
    given = near(wanted, 4)
    metric = BleuScore(max_n)
    assert metric.name() == f"BLEU-{max_n}"
    expected = 100 * float(text.bleu_score(given, [[line] for line in wanted], n_gram=max_n))
    assert epoch(metric, BleuInput, given, wanted) == pytest.approx(expected, rel=1e-5)


def test_bleu_without_a_match_and_its_smoothing() -> None:
    item = BleuInput(np.array([[1, 2, 3, 4, 5]]), np.array([[1, 2, 9, 4, 8]]))
    assert once(BleuScore(), item) == 0.0
    # Precisions 3/5 and 1/4; nothing of 3 and 2 longer runs is shared.
    assert once(BleuScore().with_smoothing(BleuSmoothing.AddEpsilon(0.1)), item) == pytest.approx(
        100 * (3 / 5 * 1 / 4 * 0.1 / 3 * 0.1 / 2) ** 0.25
    )
    assert once(BleuScore(smoothing=BleuSmoothing.Exponential()), item) == pytest.approx(
        100 * (3 / 5 * 1 / 4 * 1 / 6 * 1 / 8) ** 0.25
    )


def test_short_translations_are_punished() -> None:
    value = once(BleuScore.with_max_n(1).with_pad_token(0), BleuInput(np.array([[1, 2, 0]]), np.array([[1, 2, 3]])))
    assert value == pytest.approx(100 * math.exp(1 - 3 / 2))


def test_rouge() -> None:
    wanted = texts(5)
    given = near(wanted, 6)

    def common(a, b) -> int:
        @functools.cache
        def length(i: int, j: int) -> int:
            if not i or not j:
                return 0
            return length(i - 1, j - 1) + 1 if a[i - 1] == b[j - 1] else max(length(i - 1, j), length(i, j - 1))

        return length(len(a), len(b))

    pairs = [(a.split(), b.split()) for a, b in zip(given, wanted)]
    expected = 100 * np.mean([2 * common(a, b) / (len(a) + len(b)) for a, b in pairs])
    assert epoch(RougeLScore(), RougeLInput, given, wanted) == pytest.approx(expected)
    assert once(RougeLScore(), RougeLInput(["", ""], ["", "x"])) == 50.0


def test_perplexity() -> None:
    torch = pytest.importorskip("torch")
    logits, targets = scores(9)
    expected = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(targets)).exp().item()
    assert epoch(PerplexityMetric(), PerplexityInput, logits, targets) == pytest.approx(expected, rel=1e-5)
    kept = targets != 3
    expected = torch.nn.functional.cross_entropy(torch.tensor(logits[kept]), torch.tensor(targets[kept])).exp().item()
    assert epoch(PerplexityMetric(pad_token=3), PerplexityInput, logits, targets) == pytest.approx(expected, rel=1e-5)


def test_perplexity_of_sequences_and_of_impossible_tokens() -> None:
    logits = np.zeros((2, 3, 7))
    assert once(PerplexityMetric(), PerplexityInput(logits, np.zeros((2, 3), int))) == pytest.approx(7.0)
    assert once(PerplexityMetric(), PerplexityInput(np.array([[0.0, 1e4]]), np.array([0]))) == math.inf


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ShapeError, match="2 sequences for 1 references"):
        once(CharErrorRate(), CerInput(["a", "b"], ["a"]))
    with pytest.raises(ShapeError, match=r"\(batch, length\), got shape \(3,\)"):
        once(BleuScore(), BleuInput(np.arange(3), np.arange(3)))
    with pytest.raises(ArgumentError, match="max_n = 0"):
        BleuScore(0)
