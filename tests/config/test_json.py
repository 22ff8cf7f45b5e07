"""Configs as JSON: round trips, files, and one error for everything that does not fit."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.config import Config, ConfigError, ConfigFileNotFound
from tests.config.samples import (
    Access,
    AdamConfig,
    Constant,
    Everything,
    GradientClippingConfig,
    Initializer,
    KaimingUniform,
    LinearConfig,
    Mode,
    PaddingConfig2d,
    SgdConfig,
    WeightDecayConfig,
)

integers = st.integers(-(2**70), 2**70)
finite = st.floats(allow_nan=False)
clippings = st.one_of(
    st.builds(GradientClippingConfig.Value, finite),
    st.builds(GradientClippingConfig.Norm, finite),
    st.builds(GradientClippingConfig.Between, finite, finite),
)
paddings = st.one_of(
    st.just(PaddingConfig2d.Same),
    st.just(PaddingConfig2d.Valid),
    st.builds(PaddingConfig2d.Explicit, integers, integers),
)
initializers = st.one_of(
    st.just(Initializer.Zeros),
    st.just(Initializer.Ones),
    st.builds(Constant, finite),
    st.builds(KaimingUniform, finite, st.booleans()),
)
linears = st.builds(LinearConfig, integers, integers, st.booleans(), initializers)
adams = st.builds(
    AdamConfig, finite, finite, finite, st.none() | st.builds(WeightDecayConfig, finite), st.none() | clippings
)
sgds = st.builds(SgdConfig, st.none() | finite, st.none() | clippings)
everything = st.builds(
    Everything,
    flag=st.booleans(),
    count=integers,
    ratio=finite,
    name=st.text(),
    folder=st.text("ab/.", min_size=1).map(Path),
    mode=st.sampled_from(Mode),
    access=st.sampled_from([Access(0), Access.Read, Access.Write, Access.Read | Access.Write]),
    reduction=st.sampled_from(["mean", "sum", 3]),
    counts=st.lists(integers),
    names=st.lists(st.text()).map(tuple),
    mixed=st.tuples(integers, st.text(), finite),
    table=st.dictionaries(st.text(), st.lists(finite)),
    by_number=st.dictionaries(integers, st.text()),
    by_mode=st.dictionaries(st.sampled_from(Mode), st.booleans()),
    tags=st.frozensets(st.text()),
    number=st.none() | integers | st.floats(allow_nan=False, allow_infinity=False) | st.text("abc"),
    layer=linears,
    layers=st.lists(linears, max_size=3),
    optimizer=adams | sgds,
    initializer=initializers,
    padding=paddings,
    clipping=st.none() | clippings,
)


@given(everything)
def test_every_config_reads_back_as_it_was(config: Everything) -> None:
    text = config.to_json()
    again = Everything.from_json(text)
    assert again == config
    assert repr(again) == repr(config)
    assert again.to_json() == text
    assert Everything.from_json(config.to_json(indent=None).encode("utf-8", "surrogatepass")) == config
    assert Everything.from_dict(config.to_dict()) == config


@given(st.text() | st.binary())
def test_arbitrary_text_is_read_or_refused(text: str | bytes) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(AdamConfig.from_json(text), AdamConfig)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Everything._table().by_name, *"ab", "Explicit", "Zeros"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from([*Everything._table().by_name, "other"]), plain), plain)
def test_arbitrary_data_is_read_or_refused(data: dict[str, Any], other: Any) -> None:
    with pytest.raises(ConfigError):
        Everything.from_dict({**data, "count": "not a number"})
    with pytest.raises(ConfigError):
        Everything.from_json(json.dumps(other))


class Holder(Config):
    value: Any = None
    number: float = 0.0
    numbers: list[float] = []  # noqa: RUF012


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_plain_values_read_back_as_they_were(value: Any) -> None:
    assert Holder.from_json(Holder(value=value).to_json()) == Holder(value=value)


def test_numbers_that_json_lacks_are_text() -> None:
    config = Holder(number=-math.inf, numbers=[math.inf, math.nan, 1.0])
    assert json.loads(config.to_json()) == {"value": None, "number": "-inf", "numbers": ["inf", "NaN", 1.0]}
    again = Holder.from_json(config.to_json())
    assert again.number == -math.inf
    assert again.numbers[0] == math.inf
    assert math.isnan(again.numbers[1])
    assert Holder.from_json('{"number": Infinity}').number == math.inf
    with pytest.raises(ConfigError, match="value: expected what JSON can hold"):
        Holder(value=math.nan)


def test_an_int_serves_a_float_but_not_the_other_way_round() -> None:
    assert type(Holder.from_json('{"number": 1}').number) is float
    with pytest.raises(ConfigError, match="d_input: expected int, got 1.0"):
        LinearConfig.from_json('{"d_input": 1.0, "d_output": 2}')


class Inner(Config):
    size: int
    rate: float = 0.5
    mode: Mode = Mode.Nearest


class Outer(Config):
    name: str
    inner: Inner
    layers: list[Inner] = []  # noqa: RUF012
    either: Inner | None = None
    table: dict[int, str] = {}  # noqa: RUF012


def test_one_error_lists_everything_with_its_path() -> None:
    text = """{"naem": "a", "inner": {"size": "3", "rte": 1, "mode": "Nearst"},
               "layers": [{"size": 1}, {"rate": true}, 3], "either": {"size": null}, "table": {"x": "a", "1": 2}}"""
    with pytest.raises(ConfigError) as error:
        Outer.from_json(text)
    assert str(error.value).splitlines() == [
        "Outer.from_json: 11 faults",
        "  1. name: missing; expected str",
        '  2. inner.size: expected int, got "3"',
        '  3. inner.mode: Mode has no member "Nearst"; did you mean "Nearest"?',
        "  4. inner.rte: Inner has no such field; did you mean rate?",
        "  5. layers[1].size: missing; expected int",
        "  6. layers[1].rate: expected float, got true",
        "  7. layers[2]: expected an object for Inner, got 3",
        "  8. either.size: expected int, got null",
        '  9. table.x: expected a key that is an int, got "x"',
        '  10. table["1"]: expected str, got 2',
        "  11. naem: Outer has no such field; did you mean name?",
    ]


def test_fields_with_a_default_may_be_left_out() -> None:
    assert Outer.from_json('{"name": "a", "inner": {"size": 1}}') == Outer("a", Inner(1))


def test_what_is_saved_does_not_depend_on_later_defaults() -> None:
    assert json.loads(AdamConfig().to_json()) == {
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-5,
        "weight_decay": None,
        "grad_clipping": None,
    }


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", r"this is not JSON: expecting value \(line 1, column 1\)"),
        ('{"size": 1', r"this is not JSON: .* \(line 1, column"),
        (b"\xff\xfe", "this is not JSON: byte 0 is not UTF-8"),
        ("[]", r"expected an object for Inner, got \[\]"),
        ("null", "expected an object for Inner, got null"),
        ('{"size": 1, "size": 2}', 'the key "size" stands twice in one object'),
        ("[" * 100_000, "nested too deep"),
        ('{"size": ' + "1" * 5000 + "}", "this JSON cannot be read: .*digits"),
    ],
)
def test_what_is_not_a_config_is_refused(text: str | bytes, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        Inner.from_json(text)


def test_unions_of_configs_carry_the_class_name() -> None:
    class Training(Config):
        optimizer: AdamConfig | SgdConfig

    config = Training(SgdConfig(momentum=0.5))  # type: ignore[call-arg]
    assert json.loads(config.to_json())["optimizer"] == {"SgdConfig": {"momentum": 0.5, "grad_clipping": None}}
    assert Training.from_json(config.to_json()) == config
    with pytest.raises(ConfigError, match=r'optimizer.SgdConfig.momentum: expected float \| None, got "x"'):
        Training.from_json('{"optimizer": {"SgdConfig": {"momentum": "x"}}}')
    with pytest.raises(ConfigError, match='got {"SgdConfg": {}}; did you mean "SgdConfig"'):
        Training.from_json('{"optimizer": {"SgdConfg": {}}}')


def test_a_derived_config_carries_its_class_name() -> None:
    class Schedule(Config):
        rate: float = 0.1

    class Cosine(Schedule):
        steps: int = 10

    class Training(Config):
        schedule: Schedule

    plain, derived = Training(Schedule()), Training(Cosine(steps=3))
    assert json.loads(plain.to_json()) == {"schedule": {"rate": 0.1}}
    assert json.loads(derived.to_json()) == {"schedule": {"Cosine": {"rate": 0.1, "steps": 3}}}
    assert Training.from_json(plain.to_json()) == plain
    assert Training.from_json(derived.to_json()) == derived
    assert Cosine.from_json(Cosine(steps=3).to_json()) == Cosine(steps=3)


def test_a_union_that_json_cannot_tell_apart_is_refused_when_written() -> None:
    class Ambiguous(Config):
        mode: str | Mode

    assert Ambiguous.from_json(Ambiguous("a").to_json()) == Ambiguous("a")
    with pytest.raises(ConfigError, match='mode: <Mode.Linear: 2> is written as "Linear", which str . Mode reads as'):
        Ambiguous(Mode.Linear).to_json()


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    LinearConfig(3, 4).save(path)
    assert path.read_text() == str(LinearConfig(3, 4))
    assert LinearConfig.load(str(path)) == LinearConfig.load_binary(path.read_bytes()) == LinearConfig(3, 4)
    assert [each.name for each in tmp_path.iterdir()] == ["config.json"]


def test_a_byte_order_mark_is_read_over() -> None:
    assert Inner.load_binary(b"\xef\xbb\xbf" + b'{"size": 1}') == Inner(1)


def test_save_follows_links_and_keeps_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("{}")
    target.chmod(0o640)
    link.symlink_to(target)
    Inner(1).save(link)
    assert link.is_symlink()
    assert Inner.load(target) == Inner(1)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_config_that_cannot_be_written_leaves_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    Inner(1).save(path)

    def refuse(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space left"):
        Inner(2).save(path)
    assert Inner.load(path) == Inner(1)
    assert [each.name for each in tmp_path.iterdir()] == ["config.json"]


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    Outer("a" * 10_000, Inner(0)).save(path)
    done = threading.Event()

    def write() -> None:
        for number in range(50):
            Outer("a" * 10_000, Inner(number)).save(path)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert len(Outer.load(path).name) == 10_000
    writer.join()


def test_a_missing_file_is_a_config_error_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigFileNotFound, match=r"Inner.load\('.*none.json'\): there is no such file"):
        Inner.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        Inner.load(tmp_path / "none.json")
    with pytest.raises(ConfigError):
        Inner.load(tmp_path / "none.json")


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"size": "a"}')
    with pytest.raises(ConfigError, match=r"^Inner.load\('.*config.json'\): size: expected int, got \"a\"$"):
        Inner.load(path)
