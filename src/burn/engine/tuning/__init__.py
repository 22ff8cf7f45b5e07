"""Choice by measurement: what lowerings ask, candidates, answers and where they are kept.

How a target measures is its own matter.
"""

from burn.engine.tuning.answers import Answers
from burn.engine.tuning.asking import Asked, asking, pick
from burn.engine.tuning.modes import OFF, ON, REMEMBERED, mode, using
from burn.engine.tuning.question import Question
from burn.engine.tuning.report import Report, Row, listening, tell

__all__ = [
    "OFF", "ON", "REMEMBERED", "Answers", "Asked", "Question", "Report", "Row", "asking", "listening", "mode", "pick",
    "tell", "using",
]  # fmt: skip
