"""Config values: checked when made, immutable, changed by copies, equal by value."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.config import Config, ConfigError
from burn.errors import BurnError
from burn.shape import Shape
from tests.config.samples import (
    Access,
    AdamConfig,
    Conv2dConfig,
    GradientClippingConfig,
    Initializer,
    LinearConfig,
    Mode,
    PaddingConfig2d,
    SgdConfig,
    WeightDecayConfig,
)


class Numbers(Config):
    whole: int = 0
    real: float = 0.0
    truth: bool = False
    text: str = ""
    folder: Path = Path()
    anything: Any = None
    either: int | float | None = None
    mode: Mode = Mode.Nearest


class Dropout(Config):
    prob: float

    def __validate__(self) -> list[str]:
        return [] if 0.0 <= self.prob <= 1.0 else [f"prob lies between 0 and 1, got {self.prob}"]


class Model(Config):
    dropout: Dropout
    linear: LinearConfig


@pytest.mark.parametrize(
    "name, given, held",
    [
        ("real", 3, 3.0),
        ("real", np.float32(0.5), 0.5),
        ("real", np.float64(0.5), 0.5),
        ("real", np.int64(2), 2.0),
        ("real", Fraction(1, 4), 0.25),
        ("real", math.inf, math.inf),
        ("whole", np.int32(7), 7),
        ("truth", np.bool_(True), True),
        ("text", np.str_("a"), "a"),
        ("folder", "a/b", Path("a/b")),
        ("anything", {"a": (1, [2.5, None])}, {"a": [1, [2.5, None]]}),
        ("either", 1, 1),
        ("either", 1.0, 1.0),
    ],
)
def test_near_values_become_what_the_field_declares(name: str, given: Any, held: Any) -> None:
    value = getattr(Numbers(**{name: given}), name)
    assert value == held
    assert type(value) is type(held)


@pytest.mark.parametrize(
    "name, given, expected",
    [
        ("whole", True, "whole: expected int, got True"),
        ("whole", 1.0, "whole: expected int, got 1.0"),
        ("whole", "1", "whole: expected int, got '1'"),
        ("whole", None, "whole: expected int, got None"),
        ("real", True, "real: expected float, got True"),
        ("real", "1.0", "real: expected float, got '1.0'"),
        ("real", 10**400, "real: expected float, got an int of 401 digits"),
        ("truth", 1, "truth: expected bool, got 1"),
        ("text", b"a", "text: expected str, got b'a'"),
        ("folder", 3, "folder: expected Path or str, got 3"),
        ("anything", {"a": [1, {2}]}, r"anything.a\[1\]: expected what JSON can hold"),
        ("anything", {1: 2}, "anything: expected str keys, got 1"),
        ("either", True, r"either: expected int \| float \| None, got True"),
        ("mode", "Nearest", "mode: expected Mode, as in Mode.Nearest, got 'Nearest'"),
        ("mode", Access.Read, "mode: expected Mode, got <Access.Read: 1>"),
    ],
)
def test_other_values_are_refused(name: str, given: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        Numbers(**{name: given})


def test_lists_and_tuples_are_taken_for_each_other() -> None:
    config = Conv2dConfig([1, 8], (3, 3), stride=[2, 2])  # type: ignore[arg-type]
    assert (config.channels, config.kernel_size, config.stride) == ((1, 8), (3, 3), (2, 2))
    assert Conv2dConfig(Shape(1, 8), np.array([3, 3])) == config.with_stride((1, 1))  # type: ignore[arg-type]


def test_a_sized_sequence_has_its_length() -> None:
    with pytest.raises(ConfigError) as error:
        Conv2dConfig([1, 8, 9], 3, stride=(1,))  # type: ignore[arg-type]
    assert error.value.faults == (
        "channels: expected 2 of int, got [1, 8, 9]",
        "kernel_size: expected 2 of int, got 3",
        "stride: expected tuple[int, int], got (1,)",
    )


def test_one_error_lists_all_faults() -> None:
    with pytest.raises(ConfigError) as error:
        LinearConfig("3", biass=2, bias=1, initializer=Initializer.Constant)  # type: ignore[call-arg, arg-type]
    assert str(error.value) == (
        "LinearConfig: 5 faults\n"
        "  1. d_input: expected int, got '3'\n"
        "  2. d_output: missing; expected int\n"
        "  3. bias: expected bool, got 1\n"
        "  4. initializer: expected Initializer.Constant(...), got the class Constant\n"
        "  5. biass: LinearConfig has no such field; did you mean bias?"
    )
    assert isinstance(error.value, BurnError)
    assert isinstance(error.value, ValueError)


def test_faults_inside_containers_have_their_path() -> None:
    class Deep(Config):
        layers: list[dict[str, tuple[int, ...]]]

    with pytest.raises(ConfigError, match=r"Deep: layers\[1\].a\[0\]: expected int, got 'x'"):
        Deep([{}, {"a": ("x",)}])  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match=r'Deep: layers\[0\]\["a b"\]: expected tuple\[int, ...\], got 1'):
        Deep([{"a b": 1}])  # type: ignore[dict-item]


def test_a_field_given_twice_is_a_fault() -> None:
    with pytest.raises(ConfigError, match="d_input: given twice, by position and by name"):
        LinearConfig(1, 2, d_input=3)  # type: ignore[misc]


def test_a_dict_is_not_a_config() -> None:
    with pytest.raises(ConfigError, match=r"linear: expected LinearConfig\(...\), got {'d_input': 1}"):
        Model(Dropout(0.5), {"d_input": 1})  # type: ignore[arg-type]


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(ConfigError) as error:
        Numbers(whole="x" * 100_000)  # type: ignore[arg-type]
    assert len(str(error.value)) < 200


def test_a_config_may_check_itself() -> None:
    with pytest.raises(ConfigError, match="Dropout: prob lies between 0 and 1, got 2.0"):
        Dropout(2.0)
    with pytest.raises(ConfigError, match="Dropout: prob lies"):
        Dropout(0.5).with_prob(-1.0)
    with pytest.raises(ConfigError, match="(?s)2 faults.*dropout: prob lies.*linear.d_input: missing"):
        Model.from_json('{"dropout": {"prob": 3}, "linear": {"d_output": 1}}')


def test_with_gives_a_changed_copy() -> None:
    config = LinearConfig(3, 4)
    changed = config.with_bias(False).with_d_output(5)
    assert (changed.bias, changed.d_output, config.bias, config.d_output) == (False, 5, True, 4)
    assert config.replace(bias=False, d_output=5) == changed


def test_with_checks_its_value() -> None:
    with pytest.raises(ConfigError, match="LinearConfig: bias: expected bool, got 3"):
        LinearConfig(3, 4).with_bias(3)
    with pytest.raises(ConfigError, match="(?s)2 faults.*bias: expected bool.*d_inptu: .*did you mean d_input"):
        LinearConfig(3, 4).replace(bias=3, d_inptu=3)


def test_with_is_known_to_autocompletion() -> None:
    names = dir(LinearConfig(3, 4))
    assert {"with_d_input", "with_d_output", "with_bias", "with_initializer", "save", "d_input"} <= set(names)
    assert LinearConfig(3, 4).with_bias.__doc__ == "A copy whose `bias` is `value`."
    assert LinearConfig(3, 4).with_bias.__name__ == "with_bias"


def test_with_of_its_own_is_kept() -> None:
    class Model(Config):
        size: int = 1

        def with_size(self, size: int) -> Model:
            return self.replace(size=size * 2)

    assert Model().with_size(3).size == 6


def test_misspelt_names_give_the_near_ones() -> None:
    config = LinearConfig(3, 4)
    with pytest.raises(AttributeError, match="LinearConfig has no attribute 'with_bais'; did you mean with_bias?"):
        config.with_bais(False)
    with pytest.raises(AttributeError, match="LinearConfig has no attribute 'd_imput'; did you mean d_input"):
        _ = config.d_imput
    with pytest.raises(AttributeError, match="did you mean to_json"):
        config.to_jsn()
    assert not hasattr(config, "unheard_of")


def test_a_config_does_not_change() -> None:
    config = LinearConfig(3, 4)
    with pytest.raises(AttributeError, match=r"write config = config.with_bias\(False\)"):
        config.bias = False  # type: ignore[misc]
    with pytest.raises(AttributeError, match="it has no field 'bais'; did you mean bias"):
        config.bais = False
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del config.bias
    assert config.bias


def test_equality_is_by_class_and_value() -> None:
    assert LinearConfig(3, 4) == LinearConfig(3, 4)
    assert LinearConfig(3, 4) != LinearConfig(3, 5)
    assert LinearConfig(3, 4) != (3, 4)
    assert AdamConfig() != SgdConfig()  # type: ignore[call-arg]


def test_configs_hash_where_their_values_do() -> None:
    assert len({LinearConfig(3, 4), LinearConfig(3, 4), LinearConfig(3, 5)}) == 2

    class Listed(Config):
        size: int = 1
        names: list[str] = []  # noqa: RUF012

    with pytest.raises(TypeError, match="hash: Listed.names holds a list, which may change; declare a tuple"):
        hash(Listed())


def test_repr_is_the_source() -> None:
    config = AdamConfig(weight_decay=WeightDecayConfig(0.5), grad_clipping=GradientClippingConfig.Norm(1.0))
    names = {each.__name__: each for each in (AdamConfig, WeightDecayConfig, GradientClippingConfig)}
    assert eval(repr(config), names) == config
    assert repr(WeightDecayConfig(math.inf)) == 'WeightDecayConfig(penalty=float("inf"))'
    text = repr(Numbers(folder="a", mode=Mode.Linear))  # type: ignore[arg-type]
    assert "folder=Path('a')" in text
    assert "mode=Mode.Linear" in text
    ast.parse(text)


def test_str_is_the_json() -> None:
    config = LinearConfig(3, 4, initializer=Initializer.Zeros)
    assert str(config) == '{\n  "d_input": 3,\n  "d_output": 4,\n  "bias": true,\n  "initializer": "Zeros"\n}'


def test_configs_take_part_in_patterns() -> None:
    match LinearConfig(3, 4):
        case LinearConfig(d_input, 4, bias=True):
            assert d_input == 3
        case _:
            pytest.fail("no pattern fits")


def test_padding_is_a_value() -> None:
    assert Conv2dConfig([1, 2], [3, 3]).padding is PaddingConfig2d.Valid
