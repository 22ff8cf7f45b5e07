"""The application's log: `experiment.log`, where what was said during a training is kept.

Messages of this package go there and nowhere else while it is installed; those of other loggers go there too, and
where they would go without it.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Protocol

LOG = logging.getLogger("burn.train")
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class ApplicationLogger(Protocol):
    """Something that takes messages while a training runs: `install` begins, `uninstall` ends.

    >>> from burn.train import LearnerBuilder
    >>> class Quiet:
    ...     def install(self): pass
    ...     def uninstall(self): pass
    >>> builder = LearnerBuilder("artifacts").with_application_logger(Quiet())
    """

    def install(self) -> None:
        """Begin."""
        ...

    def uninstall(self) -> None:
        """End."""
        ...


class FileApplicationLogger:
    """Adds the messages of Python's `logging` to a file, from `level` on; a training keeps `experiment.log` with it.

    >>> import logging
    >>> from pathlib import Path
    >>> from burn.train import FileApplicationLogger
    >>> logger = FileApplicationLogger("experiment.log")
    >>> logger.install()
    >>> logging.getLogger("burn.train").warning("the disk is nearly full")
    >>> logger.uninstall()
    >>> Path("experiment.log").read_text().strip().split(" ", 2)[-1]
    'WARNING burn.train: the disk is nearly full'
    """

    def __init__(self, path: Any, level: int = logging.INFO) -> None:
        self.path, self.level = Path(path), level
        self._handler: logging.Handler | None = None
        self._before: tuple[int, bool] = (logging.NOTSET, True)

    def install(self) -> None:
        """Begin to write."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handler = self._handler = logging.FileHandler(self.path, encoding="utf-8", delay=True)
        handler.setLevel(self.level)
        handler.setFormatter(logging.Formatter(FORMAT))
        self._before = LOG.level, LOG.propagate
        LOG.setLevel(self.level)
        LOG.propagate = False
        LOG.addHandler(handler)
        logging.getLogger().addHandler(handler)

    def uninstall(self) -> None:
        """Stop writing."""
        handler, self._handler = self._handler, None
        if handler is not None:
            LOG.removeHandler(handler)
            logging.getLogger().removeHandler(handler)
            LOG.setLevel(self._before[0])
            LOG.propagate = self._before[1]
            handler.close()
