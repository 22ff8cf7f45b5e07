"""The examples of texts, folders of images and drawings, in a small setting."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn import NdArray
from burn.data.dataset.vision import MnistDataset


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_RENDERER", "plain")


def run(name: str, *arguments: Any) -> None:
    import_module(f"examples.{name}.__main__").main([str(each) for each in arguments])


def logged(folder: Path, split: str, epoch: int, metric: str) -> float:
    """The mean of a metric over an epoch, from its log."""
    lines = (folder / split / f"epoch-{epoch}" / f"{metric}.log").read_text().split()
    rows = [line.split(",") for line in lines if "final" not in line]
    return float(np.average([float(value) for value, _ in rows], weights=[int(count) for _, count in rows]))


def topics(path: Path, count: int = 160) -> None:
    """A file of texts whose class a word tells."""
    random = np.random.default_rng(0)
    words = {"sea": ["ship", "sail", "wave"], "wood": ["tree", "leaf", "deer"], "sky": ["star", "moon", "cloud"]}
    rows = ["label\ttext"]
    for _ in range(count):
        label = str(random.choice(list(words)))
        rows.append(f"{label}\tthe {random.choice(['old', 'new'])} {random.choice(words[label])} was far away")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_texts_are_classified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics(tmp_path / "topics.tsv")
    where = ("--artifact-dir", tmp_path / "run", "--device", "ndarray")
    options = ("--epochs", 10, "--d-model", 16, "--batch-size", 16, "--lr", 2e-2)
    run("text_classification", "train", "--dataset", tmp_path / "topics.tsv", *options, *where)
    assert logged(tmp_path / "run", "valid", 10, "Accuracy") > 90
    assert json.loads((tmp_path / "run" / "classes.json").read_text()) == ["sea", "sky", "wood"]
    capsys.readouterr()
    run("text_classification", "infer", "the new ship was far away", "The old cloud!", *where)
    out = capsys.readouterr().out.splitlines()
    assert [line.split("%  ")[1] for line in out] == ["sea: the new ship was far away", "sky: The old cloud!"]


def test_inference_without_a_model_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in (("text_classification", "infer"), ("text_generation", "generate")):
        with pytest.raises(SystemExit):
            run(name, command, "text", "--artifact-dir", tmp_path)
        assert "run `train` first" in capsys.readouterr().err


def test_the_bundled_passages_are_four_kinds_of_books_of_equal_size() -> None:
    from examples.text_classification.dataset import datasets_of

    train, test = datasets_of("passages")
    assert (len(train), len(test)) == (1504, 376)
    assert train.classes == ["gospels", "law and history", "letters", "poetry"]
    items = [item for part in (train, test) for item in part]
    assert np.bincount([item.label for item in items]).tolist() == [470] * 4
    assert len({item.text for item in items}) == len(items)


def test_the_bundled_text_is_two_books_by_chapters() -> None:
    from examples.text_generation.data import texts_of

    (text,) = texts_of("proverbs", limit=0)
    headings = [line for line in text.splitlines() if line.isupper() or line[-1:].isdigit()]
    assert headings == [f"PROVERBS {n}" for n in range(1, 32)] + [f"ECCLESIASTES {n}" for n in range(1, 13)]
    assert 100_000 < len(text) < 130_000


def test_a_word_that_is_not_known_is_spelled() -> None:
    from examples.text_classification.tokenizer import WordTokenizer

    tokenizer = WordTokenizer.train(["the whale, the sea", "the whale"])
    names = [tokenizer.tokens[number] for number in tokenizer.encode("The whale ate weeds ω")]
    assert names == ["[START]", "the", "whale", "#a", "#t", "#e", "#w", "#e", "#e", "[UNKNOWN]", "#s", "[UNKNOWN]"]


def test_byte_pairs_keep_every_text() -> None:
    from examples.text_generation.tokenizer import BytePairTokenizer

    text = "the theme there: the then, the 12 thé_s\n\n\tünïcödé 漢字 — the end  "
    tokenizer = BytePairTokenizer.train([text * 3], 300)
    for each in (text, "", "nothing of that before: ☃ __ 007"):
        assert tokenizer.decode(tokenizer.encode(each)) == each
    assert len(tokenizer.encode(text)) < len(text.encode()) * 0.7
    assert b" the" in tokenizer.pieces


def test_text_is_learned_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("one two three four five six seven eight nine ten. " * 120, encoding="utf-8")
    where = ("--artifact-dir", tmp_path / "run", "--device", "ndarray", "--length", 6, "--temperature", 0)
    options = ("--epochs", 8, "--d-model", 16, "--layers", 1, "--vocab-size", 300, "--lr", 2e-2)
    run("text_generation", "--dataset", tmp_path / "text.txt", "--prompt", "one two", *options, *where)
    assert "one two three four five" in capsys.readouterr().out
    run("text_generation", "generate", "four five", *where)
    assert capsys.readouterr().out.startswith("four five six seven eight")


def test_images_of_a_folder_are_classified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("PIL")
    from examples.custom_image_dataset.dataset import NAMES, make_digits

    make_digits(tmp_path / "images", 64, 32)
    run(
        "custom_image_dataset",
        tmp_path / "images",
        "--epochs",
        1,
        "--artifact-dir",
        tmp_path / "run",
        "--device",
        "ndarray",
    )
    out = capsys.readouterr().out
    assert out.startswith("64 images to train with and 32 to test, of 10 classes\n")
    table = out.split("(columns):\n")[1].splitlines()
    assert table[0].split() == sorted(NAMES)
    assert sum(int(cell) for row in table[1:] for cell in row.split()[1:]) == 32
    assert list((tmp_path / "run").glob("model.*"))


def test_an_image_of_another_size_is_named(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    from burn.errors import DataError
    from examples.custom_image_dataset.dataset import ClassificationBatcher, load

    (tmp_path / "train" / "cat").mkdir(parents=True)
    image.new("RGB", (8, 9)).save(tmp_path / "train" / "cat" / "small.png")
    with pytest.raises(DataError, match=r"small.png is \(9, 8, 3\)"):
        ClassificationBatcher().batch(list(load(tmp_path, "train")), NdArray())


def test_digits_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("wgan", "--epochs", 1, "--max-items", 192, "--batch-size", 32, "--artifact-dir", tmp_path)
    assert "[Epoch   1/1] distance" in capsys.readouterr().out
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / "drawings.png") as picture:
        assert (picture.size, picture.mode) == ((242, 242), "L")
    assert (tmp_path / "epoch-1.png").read_bytes() == (tmp_path / "drawings.png").read_bytes()


def test_the_critic_of_the_drawings_stays_within_its_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from burn.optim import RmsPropConfig
    from examples.wgan import training
    from examples.wgan.model import Discriminator, ModelConfig

    seen: list[Discriminator] = []
    judge = Discriminator.forward
    monkeypatch.setattr(Discriminator, "forward", lambda self, x: seen.append(self) or judge(self, x))
    config = training.TrainingConfig(
        ModelConfig(latent_dim=4, generator_layers=[8], critic_channels=2),
        RmsPropConfig(momentum=0.0),
        num_epochs=1,
        batch_size=16,
        clip_value=0.02,
        samples=8,
    )
    digits = [MnistDataset.bundled("train")[index] for index in range(96)]
    training.train(NdArray(), digits, config, tmp_path)
    weights = seen[-1].conv1.weight.numpy()
    assert 0 < np.abs(weights).max() <= 0.02 + 1e-7
