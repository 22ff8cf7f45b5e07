"""Habits with numbers: everything that a float argument can be used for."""

from __future__ import annotations

import copy
import decimal
import fractions
import json
import math
import pickle
import statistics
import struct
from dataclasses import dataclass, field, replace

import numpy as np

from burn import Tensor
from burn.nn import DropoutConfig
from tests.capture.habits import habit, nothing


def rates(*values):
    """Rates for the calls: the first four are others each, the rest repeat."""
    listed = [*values, *[values[-1]] * 9]
    return lambda call: (listed[call],)


FALLING = rates(0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
STEPS = rates(0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1)


def number(name, function, replays=True, arguments=FALLING):
    """A habit of a function of a tensor and a rate."""

    def make():
        return function, nothing, None, arguments

    make.__name__ = name
    habit(replays)(make)


number("scaled_by_a_rate", lambda x, r: x * r)
number("arithmetic_on_a_rate", lambda x, r: x * (1.0 - r**2.0) + (r / 2.0 - 3.0 * -r) // 0.25 % 2.0)
number("isinstance_float", lambda x, r: x * r if isinstance(r, float) else x)
number("isinstance_int_or_float", lambda x, r: x * r if isinstance(r, (int, float)) else x)
number("class_is_float", lambda x, r: x * r if type(r) is float else x, False)
number("dunder_class_is_float", lambda x, r: x * r if r.__class__ is float else x, False)
number("absolute_value", lambda x, r: x * abs(-r))
number("rounded", lambda x, r: x * round(r, 1), arguments=STEPS)
number("rounded_to_an_int", lambda x, r: x * float(round(r)), arguments=STEPS)
number("rounded_and_falling", lambda x, r: x * float(round(r)), False)
number("looked_up_in_a_table", lambda x, r: x * {0.9: 1.0, 0.1: 2.0}[r], arguments=STEPS)
number("looked_up_in_a_list", lambda x, r: x * [3.0, 4.0][int(r > 0.5)], arguments=STEPS)
number("compared", lambda x, r: x * 2.0 if r > 0.5 else x * 3.0, arguments=STEPS)
number("compared_and_falling", lambda x, r: x * 2.0 if r > 0.55 else x * 3.0, False)
number("truth_of_a_rate", lambda x, r: x * 2.0 if r else x, arguments=STEPS)
number("smallest_and_largest", lambda x, r: x * max(r, 0.5) + min(r, 0.3), False)
number("sum_of_numbers", lambda x, r: x * sum([r, r, 1.0]))
number("as_json", lambda x, r: x * float(json.loads(json.dumps({"r": r}))["r"]), False)
number("json_and_steps", lambda x, r: x * float(json.loads(json.dumps({"r": r}))["r"]), arguments=STEPS)
number("in_an_f_string", lambda x, r: (x * r, f"{r:.3f}"), False)
number("in_a_percent_string", lambda x, r: (x * r, "%.1f" % r), False)  # noqa: UP031
number("a_percent_string_that_chooses", lambda x, r: x * 2.0 if "%.0f" % r == "1" else x, False)  # noqa: UP031
number("str_and_repr", lambda x, r: (x * r, str(r), repr(r)), False)
number("a_list_of_floats_to_a_tensor", lambda x, r: x * Tensor.from_floats([r, 1.0], x.device), False)
number("a_dropout_made_of_a_rate", lambda x, r: x * DropoutConfig(r).prob, False)
number("math_functions", lambda x, r: x * math.sin(r), False)
number("math_functions_that_choose", lambda x, r: x * 2.0 if math.sin(r) > 0.5 else x, False)
number("math_floor", lambda x, r: x * float(math.floor(r * 2.0)), False)
number("math_isnan", lambda x, r: x if math.isnan(r) else x * r, False)
number("a_numpy_function", lambda x, r: x * float(np.sqrt(r)), False)
number("a_numpy_array_that_chooses", lambda x, r: x * 2.0 if np.array([r]).round()[0] else x, False)
number("a_numpy_float", lambda x, r: x * 2.0 if np.float32(r) > 0.55 else x, False)
number("a_decimal", lambda x, r: x * 2.0 if decimal.Decimal(r) > 0.55 else x, False)
number("a_fraction", lambda x, r: x * 2.0 if fractions.Fraction(r) > 0.55 else x, False)
number("packed_into_bytes", lambda x, r: x * struct.unpack("d", struct.pack("d", r))[0], False)
number("pickled", lambda x, r: x * pickle.loads(pickle.dumps(r)), False)
number("copied", lambda x, r: x * copy.deepcopy({"r": r})["r"])
number("statistics_of_it", lambda x, r: x * statistics.mean([r, 1.0]), False)
number("its_parts", lambda x, r: x * float(r.as_integer_ratio()[0] > 1), False)
number("is_integer", lambda x, r: x * 2.0 if r.is_integer() else x, False)
number("hex_by_the_class", lambda x, r: x * 2.0 if float.hex(r).startswith("0x1.c") else x, False)
number("given_back", lambda x, r: (x * r, r, r * 2.0))
number("division_by_zero", lambda x, r: x / 1.0 * (1.0 / (r - 0.5)), True)
number("overflow", lambda x, r: x * (10.0 ** (r * 100.0)) * 1e-30)
number("a_complex_power", lambda x, r: x * abs((-r) ** 0.5), False)
number("range_of_an_int", lambda x, r: sum((x for _ in range(int(r * 10))), x), False)
number("a_number_in_a_list", lambda x, r: x * r[0], arguments=lambda call: ([1.0 / (call + 1)],))
number("a_number_in_a_dict", lambda x, r: x * r["rate"], arguments=lambda call: ({"rate": 1.0 / (call + 1)},))
number("an_int_and_then_a_float", lambda x, r: x * r, arguments=lambda call: (1 if call < 4 else 1.0,))
number("true_and_then_one", lambda x, r: x * (2.0 if r is True else 3.0), arguments=lambda c: (c < 4 or 1,))
number("nan", lambda x, r: x * 2.0 if r != r else x, arguments=lambda call: (math.nan,))
number("minus_zero", lambda x, r: x * math.copysign(1.0, r), arguments=lambda call: (0.0 if call < 4 else -0.0,))
number("a_rate_of_numpy", lambda x, r: x * float(r), False, arguments=lambda call: (np.float64(1.0 / (call + 1)),))
number("returned_by_a_helper", lambda x, r: x * math.sqrt(_half(r)), False)
number("math_beside_a_rate", lambda x, r: x * r / math.sqrt(x.shape[0]), False)
number("chosen_by_match", lambda x, r: _matched(x, r), arguments=STEPS)
number("constant_throughout", lambda x, r: x * r, arguments=lambda call: (0.5,))
number("constant_and_then_another", lambda x, r: x * r + 1.0, arguments=STEPS)
number("two_rates_of_which_one_is_read", lambda x, r, s: x * r if s > 0.5 else x,
       arguments=lambda call: (1.0 / (call + 1), 0.9))  # fmt: skip


def _half(rate):
    return rate * 0.5


def _matched(x, rate):
    match rate:
        case 0.9:
            return x * 2.0
        case float():
            return x * 3.0
        case _:
            return x


@dataclass
class Settings:
    rate: float
    name: str = "fast"
    history: list = field(default_factory=list)

    def __post_init__(self):
        self.double = self.rate * 2.0
        self.tag = ("set", self.name)


@habit()
def a_dataclass_with_a_rate():
    return (
        (lambda x, s: x * s.rate + s.double if s.tag[0] == "set" else x),
        nothing,
        None,
        lambda call: (Settings(1.0 / (call + 1)),),
    )


@habit()
def a_dataclass_replaced_inside():
    def f(x, settings):
        return x * replace(settings, rate=settings.rate * 0.5).double

    return f, nothing, None, lambda call: (Settings(1.0 / (call + 1)),)


@habit(replays=False)
def a_dataclass_changed_inside():
    def f(x, settings):
        settings.rate = settings.rate * 0.5
        settings.history.append("seen")
        return x * settings.rate

    settings = Settings(1.0)
    return f, nothing, lambda: (settings.rate, len(settings.history)), lambda call: (settings,)


@habit(replays=False)
def a_rate_kept_on_an_object():
    class Meter:
        last = 0.0

    meter = Meter()

    def f(x, rate):
        meter.last = rate
        return x * rate

    return f, nothing, lambda: (meter.last, type(meter.last).__name__), FALLING


class Box:
    """An object with a number in it."""

    def __init__(self, value):
        self.value = value


@habit(notice="the class of a number is asked for")
def class_of_a_number_in_an_object_asked_by_a_helper():
    def helper(x, box):
        return x * 2.0 if type(box.value) is float else x * 3.0

    return lambda x, rate: helper(x, Box(rate)) * rate, nothing, None, lambda call: (0.5 / (call + 1),)


@habit(notice="the class of a number is asked for")
def class_of_a_number_deep_in_objects_asked_by_a_helper():
    def helper(x, boxes):
        return x * 2.0 if type(boxes[0].value["rate"]) is float else x * 3.0

    return lambda x, rate: helper(x, [Box({"rate": rate})]) * rate, nothing, None, lambda call: (0.5 / (call + 1),)


@habit(notice="the class of a number is asked for")
def class_of_a_number_put_into_self():
    class Trainer(Box):
        def check(self, x):
            return x * 2.0 if self.value.__class__ is float else x * 3.0

    trainer = Trainer(None)

    def f(x, rate):
        trainer.value = rate
        out = trainer.check(x) * rate
        trainer.value = None
        return out

    return f, nothing, None, lambda call: (0.5 / (call + 1),)


@habit()
def class_of_something_else_than_the_number():
    def helper(x, box, rate):
        return x * rate if type(box) is Box else x

    box = Box("name")
    return lambda x, rate: helper(x, box, rate), nothing, None, lambda call: (0.5 / (call + 1),)
