"""Habits of talking to the world: printing, logging, files, clocks and threads."""

from __future__ import annotations

import datetime
import functools
import io
import logging
import sys
import threading
import time
import types
import warnings

from tests.capture.habits import at, habit, nothing


@habit(notice="print is called at habits_effects_outside.py, line")
def printing():
    def f(x):
        print("step")
        return x * 2.0

    return f, nothing


@habit(notice="print")
def printing_through_map():
    def f(x):
        list(map(print, ["step"]))
        return x * 2.0

    return f, nothing


@habit(notice="print|cannot be looked at")
def printing_through_a_partial():
    tell = functools.partial(print, "step")

    def f(x):
        tell()
        return x * 2.0

    return f, nothing


@habit(notice="write")
def writing_to_standard_output():
    def f(x):
        sys.stdout.write("step\n")
        return x * 2.0

    return f, nothing


@habit(notice="file is an iterator|write")
def writing_to_a_file():
    file = io.StringIO()

    def f(x):
        file.write("step\n")
        return x * 2.0

    return f, nothing, file.getvalue


@habit(notice="logging")
def logging_a_line():
    logger = logging.getLogger("habits")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def f(x):
        logger.info("step")
        return x * 2.0

    def seen():
        return stream.getvalue()

    return f, nothing, seen


@habit()
def a_flag_that_keeps_it_from_printing():
    options = types.SimpleNamespace(verbose=False)

    def f(x):
        if options.verbose:
            print("step")
        return x * 2.0

    return f, nothing


@habit()
def a_flag_that_makes_it_print_later():
    options = types.SimpleNamespace(verbose=False)

    def f(x):
        if options.verbose:
            print("step")
        return x * 2.0

    return f, at(5)(lambda: setattr(options, "verbose", True))


@habit(notice="warn")
def warning_of_something():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("careful", stacklevel=1)
        return x * 2.0

    return f, nothing


@habit(notice="time")
def a_clock():
    def f(x):
        return x * (2.0 if time.time() > 0 else 3.0)

    return f, nothing


@habit(notice="now")
def a_date():
    def f(x):
        return x * (2.0 if datetime.datetime.now().year > 1 else 3.0)

    return f, nothing


@habit(notice="threading")
def a_thread_started_inside():
    done = []

    def f(x):
        thread = threading.Thread(target=done.append, args=(1,))
        thread.start()
        thread.join()
        return x * 2.0

    return f, nothing, lambda: len(done)


@habit()
def a_lock_held():
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2.0

    return f, nothing
