"""The dashboard on a terminal: a Textual app that draws what has changed, four times a second.

Layout: progress at the bottom, above it on the left controls, metrics and status, on the right the plots and the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.css.query import NoMatches
from textual.screen import ModalScreen
from textual.widgets import RichLog, Static

from burn.train.renderer.dashboard import panes
from burn.train.renderer.dashboard.messages import Message
from burn.train.renderer.dashboard.state import DashboardState

FRAMES_PER_SECOND = 4.0
SIZED = ("tabs", "metrics-text", "chart", "kinds", "progress", "status")


class Popup(ModalScreen[str]):
    """A question over the dashboard. Its answer is the key that was pressed, one of `answers`."""

    CSS = """
    Popup { align: center middle; background: $background 40%; }
    #popup {
        width: auto; max-width: 90%; height: auto; max-height: 90%;
        padding: 1 2; border: heavy yellow; overflow: auto; background: $surface;
    }
    """

    def __init__(self, title: str, text: Text, answers: dict[str, str]) -> None:
        super().__init__()
        self._title, self._text, self._answers = title, text, answers

    def compose(self) -> ComposeResult:
        """One box."""
        box = Static(self._text, id="popup")
        box.border_title = self._title
        yield box

    def on_key(self, event: events.Key) -> None:
        """Close with the answer."""
        answer = self._answers.get(event.key)
        if answer is not None:
            event.stop()
            self.dismiss(answer)


class TabBar(Static):
    """The metrics as tabs; a click goes to one."""

    def __init__(self, state: DashboardState, **options: Any) -> None:
        super().__init__("", **options)
        self._state = state
        self._places: list[tuple[int, int, int]] = []
        self._text = Text()

    def draw(self) -> None:
        """Show the tabs that have room."""
        names = self._state.numeric_metrics
        text, self._places = panes.tabs(names, self._state.metric, self.size.width)
        if text != self._text:
            self._text = text
            self.update(text, layout=False)

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        for start, end, step in self._places:
            if start <= event.x < end:
                self._state.select(step)


class Dashboard(App[str]):
    """The app. `answer` is told `stop` and `kill` when the user asks for them."""

    CSS = """
    Screen { layout: vertical; }
    .pane { border: round $primary; padding: 0 1; }
    #main { height: 1fr; }
    #left { width: 38%; }
    #right { width: 62%; }
    #controls { height: 5; }
    #metrics { height: 1fr; min-height: 5; scrollbar-size-vertical: 1; }
    #metrics-text { width: 100%; }
    #status { height: 6; }
    #plots { height: 1fr; }
    #tabs, #kinds { height: 1; width: 100%; }
    #chart { height: 1fr; width: 100%; }
    #log { height: 25%; min-height: 5; scrollbar-size-vertical: 1; }
    #progress { height: 4; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "ask", "stop", priority=False),
        Binding("ctrl+c", "ask", "stop", priority=False),
        Binding("left", "metric(-1)", "metric"),
        Binding("right", "metric(1)", "metric"),
        Binding("up", "kind(-1)", "plot"),
        Binding("down", "kind(1)", "plot"),
        Binding("x", "leave", "close"),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "Training"

    def __init__(
        self,
        state: DashboardState,
        answer: Callable[[str], None],
        persist: bool = False,
        frames_per_second: float = FRAMES_PER_SECOND,
    ) -> None:
        super().__init__()
        self._frames_per_second = frames_per_second
        self.state, self._answer, self._persist = state, answer, persist
        self._inbox: list[Message] = []
        self._drawn: tuple[Any, ...] = ()
        self._logged = 0
        self._shown: dict[Static, Text] = {}

    def compose(self) -> ComposeResult:
        """The panes."""
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield _titled(Static(panes.controls(), id="controls", classes="pane"), "Controls")
                with _titled(VerticalScroll(id="metrics", classes="pane", can_focus=False), "Metrics (epoch, batch)"):
                    yield Static("", id="metrics-text")
                yield _titled(Static("", id="status", classes="pane"), "Status")
            with Vertical(id="right"):
                with _titled(Vertical(id="plots", classes="pane"), "Plots"):
                    yield TabBar(self.state, id="tabs")
                    yield Static("", id="kinds")
                    yield Static("", id="chart")
                log = RichLog(id="log", classes="pane", wrap=True, max_lines=1000, min_width=20)
                log.can_focus = False
                yield _titled(log, "Log")
        yield _titled(Static("", id="progress", classes="pane"), "Progress")

    def on_mount(self) -> None:
        """Begin to draw."""
        self.set_interval(1 / self._frames_per_second, self.draw)

    def receive(self, message: Message) -> None:
        """Take a message in, from any thread; it is seen with the next frame."""
        self._inbox.append(message)

    def draw(self) -> None:
        """Draw what has changed."""
        inbox, self._inbox = self._inbox, []
        for message in inbox:
            self.state.feed(message)
            if message["kind"] == "end":
                self.call_later(self._end)
        state, base = self.state, self.screen_stack[0]
        try:
            widgets = [base.query_one(f"#{name}", Static) for name in SIZED]
        except NoMatches:  # the app is about to close
            return
        # the sizes themselves: a frame may fall between a resize of the terminal and the layout that follows it
        drawn = (state.version, *(widget.size for widget in widgets))
        if drawn == self._drawn:
            return
        self._drawn = drawn
        tabs, metrics, chart, kinds, progress, status = widgets
        assert isinstance(tabs, TabBar)
        tabs.draw()
        self._show(metrics, panes.metrics(state, metrics.size.width))
        self._show(status, panes.status(state))
        self._show(kinds, panes.kinds(state, kinds.size.width))
        self._show(chart, panes.chart(state, chart.size.width, chart.size.height))
        self._show(progress, panes.gauges(state, progress.size.width))
        new = state.log_count - self._logged
        if new:
            log = base.query_one(RichLog)
            for line in list(state.log)[-min(new, len(state.log)) :]:
                log.write(Text(line))
            self._logged = state.log_count

    def _show(self, widget: Static, text: Text) -> None:
        """Show a text if it is another one. The layout is only looked at again if its height changed."""
        before = self._shown.get(widget)
        if before == text:
            return
        self._shown[widget] = text
        heights = [each.plain.count("\n") for each in (before, text) if each is not None]
        widget.update(text, layout=len(set(heights)) > 1 or before is None)

    def _end(self) -> None:
        if not self._persist:
            self.exit("ended")
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
        text = Text(self.state.summary or "the training has ended")
        text.append("\n\nx  close this box and look at the dashboard\nq  exit", style="dim")
        self.push_screen(Popup("Finished", text, {"x": "close", "q": "exit", "escape": "close"}), self._after_end)

    def _after_end(self, answer: str | None) -> None:
        if answer == "exit":
            self.exit("ended")

    # keys

    def action_metric(self, step: int) -> None:
        """Show another metric."""
        self.state.select(step)
        self.draw()

    def action_kind(self, step: int) -> None:
        """Show another kind of plot."""
        self.state.select_kind(step)
        self.draw()

    def action_leave(self) -> None:
        """Close, once the training is over."""
        if self.state.is_over:
            self.exit("ended")

    def action_ask(self) -> None:
        """Ask what `q` should do; once the training is over it closes."""
        if self.state.is_over:
            self.exit("ended")
            return
        if len(self.screen_stack) > 1:
            return
        rows = (
            ("s", "stop: finish this batch, write the checkpoint, go on after the training"),
            ("k", "kill: leave at once, the training raises KeyboardInterrupt"),
            ("c", "cancel: go on training"),
        )
        text = Text("\n").join(Text.assemble((f"{key}  ", "bold"), what) for key, what in rows)
        keys = {"s": "stop", "k": "kill", "ctrl+c": "kill", "c": "cancel", "escape": "cancel"}
        self.push_screen(Popup("Quit", text, keys), self._answered)

    def _answered(self, answer: str | None) -> None:
        if answer == "stop":
            self.state.mode = "Stopping"
            self.state.version += 1
            self._answer("stop")
        elif answer == "kill":
            self._answer("kill")
            self.exit("killed")


def _titled(widget: Any, title: str) -> Any:
    widget.border_title = title
    return widget
