"""Enumerations: variants with and without fields, as values, in patterns, and in JSON."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from burn.config import Config, ConfigError, Enumeration, variant
from tests.config.samples import Constant, GradientClippingConfig, Initializer, KaimingUniform, PaddingConfig2d

VALUES: list[tuple[Enumeration, str, Any]] = [
    (PaddingConfig2d.Same, "PaddingConfig2d.Same", "Same"),
    (PaddingConfig2d.Explicit(1, 2), "PaddingConfig2d.Explicit(h=1, w=2)", {"Explicit": {"h": 1, "w": 2}}),
    (Initializer.Zeros, "Initializer.Zeros", "Zeros"),
    (Initializer.Constant(2), "Initializer.Constant(value=2.0)", {"Constant": {"value": 2.0}}),
    (
        KaimingUniform(gain=1.0),
        "Initializer.KaimingUniform(gain=1.0, fan_out_only=False)",
        {"KaimingUniform": {"gain": 1.0, "fan_out_only": False}},
    ),
    (GradientClippingConfig.Value(0.5), "GradientClippingConfig.Value(0.5)", {"Value": 0.5}),
    (GradientClippingConfig.Between(0, 1), "GradientClippingConfig.Between(0.0, 1.0)", {"Between": [0.0, 1.0]}),
]
NAMES = {each.__name__: each for each in (PaddingConfig2d, Initializer, GradientClippingConfig)}


@pytest.mark.parametrize("value, source, written", VALUES, ids=[source for _, source, _ in VALUES])
def test_a_variant_reads_as_its_source_and_is_written_as_serde_does(value: Any, source: str, written: Any) -> None:
    assert repr(value) == source
    assert eval(source, NAMES) == value
    assert json.loads(value.to_json()) == written
    assert type(value).from_json(json.dumps(written)) == value
    assert hash(type(value).from_json(json.dumps(written))) == hash(value)
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_a_variant_without_fields_is_one_value() -> None:
    assert PaddingConfig2d.Same is PaddingConfig2d.from_json('"Same"')
    assert pickle.loads(pickle.dumps(PaddingConfig2d.Same)) is PaddingConfig2d.Same
    assert copy.copy(PaddingConfig2d.Same) is PaddingConfig2d.Same
    assert PaddingConfig2d.Same != PaddingConfig2d.Valid


def test_variants_are_values_of_their_enumeration() -> None:
    assert isinstance(PaddingConfig2d.Same, PaddingConfig2d)
    assert isinstance(PaddingConfig2d.Explicit(1, 1), PaddingConfig2d)
    assert Initializer.Constant is Constant
    assert list(PaddingConfig2d.variants()) == ["Same", "Valid", "Explicit"]
    assert GradientClippingConfig.Value(1.0) != GradientClippingConfig.Norm(1.0)


@pytest.mark.parametrize(
    "padding, expected",
    [(PaddingConfig2d.Same, "same"), (PaddingConfig2d.Valid, "other"), (PaddingConfig2d.Explicit(1, 2), (1, 2))],
)
def test_variants_are_matched(padding: PaddingConfig2d, expected: object) -> None:
    match padding:
        case PaddingConfig2d.Same:
            found: object = "same"
        case PaddingConfig2d.Explicit(h, w):
            found = (h, w)
        case _:
            found = "other"
    assert found == expected


def test_positions_are_matched_too() -> None:
    match GradientClippingConfig.Between(0.0, 1.0):
        case GradientClippingConfig.Between(low, high):
            assert (low, high) == (0.0, 1.0)
        case _:
            pytest.fail("no pattern fits")


def test_a_variant_checks_its_fields() -> None:
    with pytest.raises(ConfigError) as error:
        PaddingConfig2d.Explicit("1", v=2)
    assert str(error.value) == (
        "PaddingConfig2d.Explicit: 3 faults\n"
        "  1. h: expected int, got '1'\n"
        "  2. w: missing; expected int\n"
        "  3. v: Explicit has no such field; there are h, w"
    )
    with pytest.raises(ConfigError, match="GradientClippingConfig.Value: _0: expected float, got 'x'"):
        GradientClippingConfig.Value("x")


def test_an_enumeration_itself_is_not_a_value() -> None:
    with pytest.raises(ConfigError, match="PaddingConfig2d: choose a variant: PaddingConfig2d.Same, PaddingConfig2d.V"):
        PaddingConfig2d()


def test_a_field_says_which_variant_was_meant() -> None:
    class Conv(Config):
        padding: PaddingConfig2d

    with pytest.raises(ConfigError, match="padding: expected PaddingConfig2d.Same, got 'Same'"):
        Conv("Same")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"padding: expected PaddingConfig2d.Explicit\(...\), got the class Explicit"):
        Conv(PaddingConfig2d.Explicit)
    with pytest.raises(ConfigError, match="padding: expected PaddingConfig2d, got Initializer.Zeros"):
        Conv(Initializer.Zeros)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, expected",
    [
        ('"Smae"', 'PaddingConfig2d has no variant "Smae"; did you mean "Same"?'),
        ('{"Explict": {}}', 'PaddingConfig2d has no variant "Explict"; did you mean "Explicit"?'),
        ('{"Explicit": {"h": 1}}', "Explicit.w: missing; expected int"),
        ('{"Explicit": {"h": 1, "w": 2, "x": 3}}', "Explicit.x: Explicit has no such field; there are h, w"),
        ('{"Explicit": 3}', "Explicit: expected an object of its fields, got 3"),
        ('"Explicit"', "(?s)Explicit.h: missing; expected int.*Explicit.w: missing"),
        ('{"Same": 3}', 'Same: a variant without fields: write "Same", got {"Same": 3}'),
        ("3", 'expected PaddingConfig2d, that is "Same" or "Valid" or {"Explicit": ...}, got 3'),
        ('{"Same": null, "Valid": null}', "expected PaddingConfig2d, that is"),
    ],
)
def test_text_that_is_no_variant_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        PaddingConfig2d.from_json(text)


@pytest.mark.parametrize("text", ['{"Explicit": [1, 2]}', '{"Explicit": {"w": 2, "h": 1}}'])
def test_fields_are_read_by_name_or_by_position(text: str) -> None:
    assert PaddingConfig2d.from_json(text) == PaddingConfig2d.Explicit(1, 2)


def test_serde_forms_of_positions() -> None:
    read = GradientClippingConfig.from_json
    assert read('{"Value": 1}') == GradientClippingConfig.Value(1.0)
    with pytest.raises(ConfigError, match=r"Between: expected a list of 2, got \[1\]"):
        read('{"Between": [1]}')
    with pytest.raises(ConfigError, match=r"Between._1: expected float, got true"):
        read('{"Between": [1, true]}')
    with pytest.raises(ConfigError, match="Value: expected float, got null"):
        read('"Value"')


def test_defaults_of_a_variant_fill_what_the_text_leaves_out() -> None:
    assert Initializer.from_json('{"KaimingUniform": {"gain": 1}}') == KaimingUniform(gain=1.0)
    assert Initializer.from_json('"KaimingUniform"') == KaimingUniform()


def test_a_variant_as_a_class_may_have_another_name_and_positions() -> None:
    class Padding(Enumeration):
        Valid = variant()

    class Explicit2d(Padding, variant="Explicit", positional=True):
        h: int
        w: int = 1

    value: Any = Padding.Explicit(2)  # type: ignore[attr-defined]
    assert (repr(value), value.to_json(indent=None)) == ("Padding.Explicit(2, 1)", '{"Explicit": [2, 1]}')
    assert Padding.from_json('{"Explicit": [2, 1]}') == Explicit2d(2)


def test_a_variant_is_changed_by_copies() -> None:
    value: Any = Initializer.Constant(1.0)
    assert value.with_value(2.0) == Initializer.Constant(2.0)
    with pytest.raises(AttributeError, match="Initializer.Constant has no attribute 'valeu'; did you mean value"):
        _ = value.valeu
    with pytest.raises(AttributeError, match="it does not change"):
        value.value = 3.0


def test_a_field_may_be_typed_by_one_variant() -> None:
    class Fixed(Config):
        initializer: Constant

    assert Fixed.from_json(Fixed(Constant(1.0)).to_json()) == Fixed(Constant(1.0))
    with pytest.raises(ConfigError, match='initializer: expected the variant "Constant", got "Zeros"'):
        Fixed.from_json('{"initializer": "Zeros"}')


def test_a_variant_declared_twice_is_refused_unless_it_is_the_same_cell_again() -> None:
    class Padding(Enumeration):
        Valid = variant()

    for _ in range(2):

        class Explicit(Padding):
            h: int

    assert Padding.Explicit is Explicit  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="the variant Valid is declared twice"):

        class Valid(Padding):
            h: int


def test_names_or_positions_not_both() -> None:
    with pytest.raises(ConfigError, match="names or positions, not both"):
        variant(int, h=int)
