"""The story that `make run` tells, with few digits and little training."""

from __future__ import annotations

import pytest

from burn.data.dataset.transform import PartialDataset
from burn.data.dataset.vision import MnistDataset
from examples.story import __main__ as story


def test_the_story_trains_reloads_imports_and_fine_tunes(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(story, "MnistDataset", Few)
    monkeypatch.setattr(story, "fine_tune", lambda folder, device, epochs, each: _short(folder, device))
    monkeypatch.setenv("BURN_RENDERER", "plain")
    story.main(["--epochs", "1", "--artifact-dir", str(tmp_path / "story")])
    text = capsys.readouterr().out
    assert "Predicted" in text
    assert "Learner Summary" in text
    assert "saved as tuned.mpk and loaded again: the same answers" in text
    assert (tmp_path / "story" / "imported" / "digits.py").exists()
    assert (tmp_path / "story" / "model.mpk.gz").exists() or any((tmp_path / "story").glob("model.*"))


class Few:
    """The first of the bundled digits."""

    @staticmethod
    def bundled(split):
        return PartialDataset(MnistDataset.bundled(split), 0, 256)


def _short(folder, device) -> None:
    from examples.fine_tune_onnx.__main__ import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("examples.fine_tune_onnx.__main__.digits", _few)
        run(folder, device, 1, 5)


def _few(split, wanted, each=None):
    from examples.fine_tune_onnx.data import digits

    return digits(split, wanted, each or 10)
