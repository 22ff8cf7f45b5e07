from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import pytest

from burn.errors import ArgumentError, BurnError
from burn.train.renderer import NoRenderer, PlainRenderer, default_renderer
from burn.train.renderer.default import renderer_named
from tests.train.renderer.scripted import plan, train


def shown(**options: Any) -> list[str]:
    """The lines of a training in which each batch takes a second."""
    now, file = [0.0], io.StringIO()

    def tick(*_: object) -> None:
        now[0] += 1

    train(PlainRenderer(file=file, clock=lambda: now[0], **options), plan(2), tick)
    return file.getvalue().splitlines()


def test_lines_tell_the_epochs_and_something_between() -> None:
    lines = shown(seconds=15)
    assert lines[0] == "training: 2 epochs, 2560 items to train on, 640 to validate with"
    assert lines[1].startswith("epoch 1/2 train  40 %   Loss ")
    assert lines[1].split("   ")[-2:] == ["68 items/s", "(1 min)"]
    ends = [line for line in lines if " in " in line]
    assert [line[6:15] for line in ends] == ["1/2 train", "1/2 valid", "2/2 train", "2/2 valid"]
    assert "   Loss 1.036   Accuracy 58.554 %   in 10.0 s" in ends[1]
    assert ends[0].endswith("in 39.0 s")
    assert lines[-2:] == ["", "==== the summary ===="]


def test_lines_can_come_by_percent() -> None:
    lines = [line for line in shown(percent=25) if "%   Loss" in line]
    assert [line.split()[3] for line in lines] == ["25", "50", "75", "30", "60", "90"] * 2


def test_a_training_that_stops_in_an_epoch_still_shows_it() -> None:
    file = io.StringIO()
    renderer = PlainRenderer(file=file)

    def stop(split: str, place: Any) -> None:
        if place.iteration == 10:
            assert renderer.interrupter is not None
            renderer.interrupter.stop("enough")

    assert train(renderer, plan(2), stop) == "enough"
    lines = file.getvalue().splitlines()
    assert lines[1] == "checkpoint written"
    assert lines[2].startswith("epoch 1/2 train  25 %   Loss ")


@pytest.mark.parametrize("options", [dict(percent=0), dict(percent=101), dict(seconds=-1)])
def test_wrong_intervals_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="PlainRenderer: "):
        PlainRenderer(**options)


def test_no_renderer_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    train(NoRenderer(), plan(1), lambda *_: None)
    assert capfd.readouterr() == ("", "")


def test_without_a_terminal_lines_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURN_RENDERER", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert type(default_renderer()) is PlainRenderer


def test_the_environment_can_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_RENDERER", "none")
    assert type(default_renderer()) is NoRenderer
    monkeypatch.setenv("BURN_RENDERER", "fancy")
    with pytest.raises(ArgumentError, match="'fancy' is no renderer; choose from dashboard, rich, plain"):
        default_renderer()


@pytest.mark.skipif(os.name != "posix", reason="terminals of this kind are POSIX")
def test_the_dashboard_without_a_terminal_says_what_to_use() -> None:
    pytest.importorskip("textual")
    code = "from burn.train.renderer import DashboardRenderer; DashboardRenderer()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "DashboardRenderer: standard output is no terminal; use PlainRenderer()" in result.stderr


def test_lines_need_no_other_package() -> None:
    code = (
        "import sys; sys.modules['rich'] = sys.modules['textual'] = sys.modules['IPython'] = None\n"
        "from burn.train.renderer import default_renderer\n"
        "from tests.train.renderer.scripted import plan, train\n"
        "train(default_renderer(), plan(1), lambda *_: None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("training: 1 epoch, ")


def test_rich_shows_a_table_over_two_bars() -> None:
    console = pytest.importorskip("rich.console")
    from burn.train.renderer import RichRenderer

    file = io.StringIO()
    screen = console.Console(file=file, force_terminal=True, width=100, height=30, color_system=None)
    renderer = RichRenderer(screen)
    train(renderer, plan(2), lambda split, place: renderer.on_log("[halfway]") if place.iteration == 20 else None)
    text = file.getvalue()
    last = text[text.rindex("Metric") :]
    assert "Accuracy       Valid" in last
    assert "epoch 2/2" in last
    assert "Total ━━" in last
    assert "[halfway]" in text
    assert text.rstrip().endswith("==== the summary ====")


def test_a_notebook_has_one_output_with_a_table_bars_and_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    from burn.train.renderer import NotebookRenderer

    pages: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            pages.append(page.data)

    monkeypatch.setattr(display, "display", lambda page, display_id: Handle())
    renderer = renderer_named("notebook")
    assert isinstance(renderer, NotebookRenderer)
    train(renderer, plan(2), lambda *_: None)
    assert 1 <= len(pages) <= 3, "at most two a second"
    assert pages[-1].count("<svg") == 1
    assert pages[-1].count("<circle") == 2 * 5, "two epochs of five curves"
    assert "<td>Accuracy</td><td>Valid</td><td>" in pages[-1]
    assert '<progress value="640" max="640">' in pages[-1]
    assert pages[-1].endswith("<pre>==== the summary ====</pre>")


@pytest.mark.parametrize("name", ["rich", "IPython"])
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, f"{name}.console", None)
    with pytest.raises(BurnError, match=f"needs {name}"):
        renderer_named({"rich": "rich", "IPython": "notebook"}[name])
