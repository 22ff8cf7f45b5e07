"""The dashboard driven by Textual's pilot: what stands on the screen, as characters, at two sizes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("textual")
from textual.widgets import Static

from burn.train.renderer.dashboard.app import Dashboard
from burn.train.renderer.dashboard.feed import Feed
from burn.train.renderer.dashboard.messages import Message, decode, encode, plan_message
from burn.train.renderer.dashboard.panes import tabs
from burn.train.renderer.dashboard.state import DashboardState
from tests.train.renderer.scripted import batches_of, plan

SMALL, LARGE = (80, 24), (200, 60)


class Clock:
    """Each batch takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def messages(epochs: int, until: int) -> list[Message]:
    """What a dashboard is sent in the first `until` batches, one message each, as it arrives through a pipe."""
    feed, sent = Feed(), [plan_message(plan(epochs))]
    for number, (split, states, place) in enumerate(batches_of(plan(epochs)), 1):
        if number > until:
            break
        for each in states:
            feed.metric(split, each)
        feed.batch_done(split, place)
        if number == 40:
            feed.log("checkpoint 1 written\n\x1b[1ma stray print\x1b[0m")
        sent.append(feed.take())
    lines = [encode(message) for message in sent]
    return list(decode(lines))  # type: ignore[arg-type]


Script = Callable[[Dashboard, Any], Awaitable[None]]


def drive(size: tuple[int, int], script: Script, until: int = 70, persist: bool = False) -> list[str]:
    """Run a script of keys; the answers that the training would get."""
    answers: list[str] = []

    async def run() -> None:
        clock = Clock()
        app = Dashboard(DashboardState(clock), answers.append, persist, frames_per_second=10)
        async with app.run_test(size=size) as pilot:
            for message in messages(3, until):
                app.state.feed(message)
                clock.now += 1
            await pilot.pause(0.4)  # several frames, on a busy machine at least one
            await script(app, pilot)

    asyncio.run(run())
    return answers


def screen(app: Dashboard) -> list[str]:
    """The characters of the screen."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    text = ["".join(segment.text for segment in strip) for strip in lines]
    assert len(text) == height
    assert {len(line) for line in text} == {width}
    return text


def column(lines: list[str], title: str) -> list[str]:
    """The inside of the pane with that title."""
    top = next(i for i, line in enumerate(lines) if f"╭─ {title} ─" in line)
    left = lines[top].index(f"╭─ {title} ─")
    right = lines[top].index("╮", left)
    inside = []
    for line in lines[top + 1 :]:
        if line[left] == "╰":
            return inside
        inside.append(line[left + 1 : right].strip())
    raise AssertionError(f"the pane {title} is not closed")


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
def test_every_pane_is_there_and_can_be_read(size: tuple[int, int]) -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        lines = screen(app)
        assert column(lines, "Controls") == ["q   stop training", "←/→ switch metric", "↑/↓ switch plot"]
        assert column(lines, "Status") == ["Mode      Training", "Epoch     2/3", "Iteration 60", "Items     1280/2560"]
        metrics = column(lines, "Metrics (epoch, batch)")
        assert metrics[0].startswith("Loss")
        assert metrics[1].startswith("Train ")
        assert metrics[2].startswith("Valid ")
        train = app.state.entries["Loss"]["train"].split()
        assert train[1] in metrics[1]
        assert train[4] in metrics[1]
        gauges = column(lines, "Progress")
        assert gauges[0].startswith("Train █")
        assert "50%" in gauges[0]
        assert gauges[1].startswith("Total █")
        assert "47%" in gauges[1]
        assert gauges[1].endswith("(1 min)")
        log = " ".join(column(lines, "Log"))
        assert "checkpoint 1 written" in log
        assert "a stray print" in log
        plots = column(lines, "Plots")
        assert plots[0] == "Loss │ Accuracy │ Learning Rate"
        assert "● Full history" in plots[1]
        assert plots[1].endswith("━ Train ━ Valid")
        assert plots[2].split()[:1] == ["2.20"]
        assert plots[-1].split()[-2:] == ["epoch", "1.50"]
        dots = sum(character > "⠀" and character <= "⣿" for line in plots for character in line)
        assert dots > 30

    drive(size, script)


def test_all_metrics_fit_on_a_large_screen() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        metrics = column(screen(app), "Metrics (epoch, batch)")
        names = [line for line in metrics if line and not line.startswith(("Train", "Valid"))]
        assert names == ["Loss", "Accuracy", "Learning Rate", "Note"]
        assert "Train all is well 2" in metrics
        epoch, batch = app.state.entries["Accuracy"]["train"].removeprefix("epoch ").split(" - batch ")
        assert metrics[4].split("  ")[0] == f"Train {epoch}"
        assert metrics[4].endswith(f"  {batch}")

    drive(LARGE, script)


def test_arrows_switch_the_metric_and_the_kind_of_plot() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        assert app.state.selected == "Loss"
        await pilot.press("right")
        assert app.state.selected == "Accuracy"
        await pilot.pause(0.15)
        assert column(screen(app), "Plots")[2].startswith("74.69 ┤")
        await pilot.press("left", "left")
        assert app.state.selected == "Learning Rate"
        await pilot.press("right", "down")
        await pilot.pause(0.15)
        assert "● Recent history" in column(screen(app), "Plots")[1]
        await pilot.press("down")
        await pilot.pause(0.15)
        plots = column(screen(app), "Plots")
        assert "● By epoch" in plots[1]
        assert plots[2].startswith("1 Train █")
        assert plots[3].startswith("1 Valid █")
        await pilot.press("down")
        await pilot.pause(0.15)
        assert "● Full history" in column(screen(app), "Plots")[1]

    drive(LARGE, script)


def test_a_click_on_a_tab_goes_there() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        await pilot.click("#tabs", offset=(9, 0))
        assert app.state.selected == "Accuracy"
        await pilot.click("#tabs", offset=(1, 0))
        assert app.state.selected == "Loss"

    drive(SMALL, script)


def test_q_asks_and_c_goes_on() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        await pilot.press("q")
        await pilot.pause()
        text = "\n".join(screen(app))
        assert "━ Quit ━" in text
        for answer in ("s  stop", "k  kill", "c  cancel"):
            assert answer in text
        await pilot.press("c")
        await pilot.pause()
        assert "━ Quit ━" not in "\n".join(screen(app))

    assert drive(SMALL, script) == []


def test_q_and_s_ask_the_training_to_stop() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        await pilot.press("q", "s")
        await pilot.pause(0.15)
        assert "Mode      Stopping" in column(screen(app), "Status")
        assert app.is_running

    assert drive(SMALL, script) == ["stop"]


@pytest.mark.parametrize("keys", [("q", "k"), ("ctrl+c", "ctrl+c")])
def test_q_and_k_end_at_once(keys: tuple[str, str]) -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        await pilot.press(*keys)
        await pilot.pause()
        assert app.return_value == "killed"

    assert drive(SMALL, script) == ["kill"]


def test_it_closes_when_the_training_ends() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        app.receive({"kind": "end", "summary": "the summary"})
        await pilot.pause(0.3)
        assert app.return_value == "ended"

    drive(SMALL, script)


def test_it_stays_open_with_the_summary_when_asked() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        app.receive({"kind": "end", "summary": "| Train | Loss |"})
        await pilot.pause(0.3)
        assert app.return_value is None
        assert "| Train | Loss |" in "\n".join(screen(app))
        await pilot.press("x")
        await pilot.pause(0.15)
        assert "Mode      Finished" in column(screen(app), "Status")
        await pilot.press("q")
        await pilot.pause()
        assert app.return_value == "ended"

    drive(LARGE, script, persist=True)


def test_it_follows_the_size_of_the_terminal() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        for size in ((120, 40), (40, 12), (10, 4), SMALL):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.25)
            assert len(screen(app)) == size[1]
        for _ in range(100):  # a busy machine draws later
            if column(screen(app), "Plots")[2].split()[:1] == ["2.20"]:
                break
            await pilot.pause(0.1)
        assert column(screen(app), "Plots")[2].split()[:1] == ["2.20"]

    drive(LARGE, script)


def test_panes_that_get_their_size_after_a_frame_are_drawn_again() -> None:
    """The layout may follow the terminal's resize by more than a frame, with no batch after it."""

    async def script(app: Dashboard, pilot: Any) -> None:
        chart = app.screen.query_one("#chart", Static)
        before = chart.size.height
        app.screen.query_one("#log").styles.height = "60%"
        await pilot.pause(0.5)
        assert chart.size.height < before
        assert app._shown[chart].plain.count("\n") + 1 == chart.size.height

    drive(LARGE, script)


def test_before_the_first_batch_it_says_so() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        text = "\n".join(screen(app))
        assert "Mode      Starting" in text
        assert "no numeric metrics yet" in text

    drive(SMALL, script, until=0)


def test_values_that_are_not_finite_do_not_break_it() -> None:
    async def script(app: Dashboard, pilot: Any) -> None:
        points = [[0.1, math.nan], [0.2, math.inf], [0.3, 1.0]]
        message = {"kind": "update", "points": {"train": {"Loss": points}}, "epochs": [["train", "Loss", 2, math.nan]]}
        app.receive(next(iter(decode([encode(message)]))))  # type: ignore[arg-type]
        await pilot.pause(0.15)
        await pilot.press("up")
        await pilot.pause(0.15)
        assert any(line.startswith("2 Train") and line.endswith("nan") for line in column(screen(app), "Plots"))

    drive(SMALL, script)


@pytest.mark.parametrize("selected", range(12))
def test_of_many_tabs_the_selected_one_is_seen(selected: int) -> None:
    names = [f"Metric number {index}" for index in range(12)]
    line, places = tabs(names, selected, 46)
    assert len(line) <= 46
    assert f" Metric number {selected} " in line.plain
    assert ("‹" in line.plain) == (0 not in [selected + step for start, end, step in places if end - start > 2])
    assert [line.plain[start:end].strip() for start, end, step in places if step == 0] == [names[selected]]


def test_a_message_stays_short_however_many_batches_it_tells() -> None:
    feed = Feed()
    for split, states, place in batches_of(plan(3, 4000)):
        for each in states:
            feed.metric(split, each)
        feed.batch_done(split, place)
    message = feed.take()
    assert len(encode(message)) < 20000
    assert all(len(points) <= 64 for named in message["points"].values() for points in named.values())
    assert feed.take() == {}
