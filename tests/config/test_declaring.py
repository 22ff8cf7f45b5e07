"""Declaring configs: fields, defaults, inheritance, and annotations of every spelling."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any, ClassVar, Generic, NewType, Optional, TypeVar

import pytest

from burn.config import Config, ConfigError, Enumeration, field, variant
from tests.config.samples import AdamConfig, Conv2dConfig, LinearConfig, PaddingConfig2d, SgdConfig, WeightDecayConfig

T = TypeVar("T")
Count = NewType("Count", int)


class Node(Config):
    """A config that holds configs of its own class, and one declared below it."""

    name: str
    children: list[Node] = []  # noqa: RUF012
    later: Optional[Later] = None  # noqa: UP045


class Later(Config):
    size: int = 1


class Box(Config, Generic[T]):
    content: T


class IntegerBox(Box[int]):
    label: str = ""


def test_required_fields_are_positional_in_their_order_and_have_names_too() -> None:
    assert LinearConfig(3, 4) == LinearConfig(d_output=4, d_input=3) == LinearConfig(3, d_output=4)


def test_fields_with_a_default_follow_by_position_or_by_name() -> None:
    assert LinearConfig(3, 4, False) == LinearConfig(3, 4, bias=False)
    assert LinearConfig(3, 4).bias is True


def test_defaults_that_stand_before_required_fields_go_by_name_only() -> None:
    class Training(Config):
        epochs: int = 10
        model: LinearConfig  # type: ignore[misc]
        seed: int = 42

    config = Training(LinearConfig(1, 2), 7)  # type: ignore[arg-type]
    assert (config.epochs, config.seed) == (10, 7)
    with pytest.raises(ConfigError, match="takes 2 by position \\(model, seed\\), got 3; give epochs by name"):
        Training(LinearConfig(1, 2), 7, 20)  # type: ignore[arg-type]


def test_a_field_may_be_by_name_only() -> None:
    class Training(Config):
        epochs: int = field(default=10, kw_only=True)
        seed: int = 42

    assert Training(3).seed == 3
    assert list(inspect.signature(Training).parameters) == ["seed", "epochs"]


def test_optional_fields_default_to_none_without_saying_so() -> None:
    assert SgdConfig() == SgdConfig(momentum=None, grad_clipping=None)  # type: ignore[call-arg]


def test_a_mutable_default_is_not_shared() -> None:
    first, second = Node("a"), Node("b")
    first.children.append(second)
    assert second.children == []
    assert Node("c").children == []


def test_what_a_config_holds_is_its_own() -> None:
    given = [Node("b")]
    config = Node("a", given)
    given.clear()
    assert len(config.children) == 1


def test_a_default_may_be_made_anew() -> None:
    class Run(Config):
        names: list[str] = field(default_factory=lambda: ["a"])

    assert Run().names == ["a"]
    assert Run().names is not Run().names


def test_a_default_may_be_another_config() -> None:
    class Training(Config):
        optimizer: AdamConfig = AdamConfig(beta_1=0.8)

    assert Training().optimizer.beta_1 == 0.8
    assert Training().with_optimizer(AdamConfig()).optimizer.beta_1 == 0.9


def test_a_default_that_does_not_fit_is_named_on_first_use() -> None:
    class Wrong(Config):
        size: int = "three"  # type: ignore[assignment]
        rate: float = 1

    with pytest.raises(ConfigError, match="class .*Wrong: size: its default does not fit: expected int, got 'three'"):
        Wrong()


def test_an_int_default_of_a_float_field_is_a_float() -> None:
    class Rate(Config):
        rate: float = 1

    assert type(Rate().rate) is float


def test_fields_are_inherited_and_defaults_may_be_replaced() -> None:
    class Wide(LinearConfig):
        width: int = 2
        bias = False

    assert repr(Wide(1, 2)).endswith("bias=False, initializer=" + repr(LinearConfig(1, 2).initializer) + ", width=2)")
    assert Wide(1, 2) != LinearConfig(1, 2, bias=False)


def test_a_required_field_of_a_subclass_comes_after_those_it_inherits() -> None:
    class Named(LinearConfig):
        name: str  # type: ignore[misc]

    assert Named(1, 2, "a").name == "a"  # type: ignore[arg-type, call-arg]


def test_class_variables_and_methods_are_not_fields() -> None:
    class Model(Config):
        size: int
        KNOWN: ClassVar[dict[str, int]] = {}
        other = 3

        def init(self) -> int:
            return self.size

    assert list(inspect.signature(Model).parameters) == ["size"]
    assert Model(2).init() == 2


def test_a_config_may_hold_itself_and_what_is_declared_later() -> None:
    tree = Node("a", [Node("b"), Node("c", later=Later(3))])
    assert Node.from_json(tree.to_json()) == tree


def test_configs_of_functions_may_name_each_other() -> None:
    class Outer(Config):
        inner: Inner
        others: list[Inner] = []  # noqa: RUF012

    class Inner(Config):
        size: int

    assert Outer.from_json(Outer(Inner(3)).to_json()) == Outer(Inner(3))


def test_configs_of_functions_outlive_them() -> None:
    def make() -> type[Config]:
        class Inner(Config):
            size: int

        class Outer(Config):
            inner: Inner | None = None
            padding: PaddingConfig2d = PaddingConfig2d.Same

        return Outer

    outer: Any = make()
    assert outer(padding=PaddingConfig2d.Valid).inner is None


def test_a_class_in_the_body_of_a_config_may_type_a_field() -> None:
    class Training(Config):
        class Model(Config):
            size: int = 3

        model: Model = Model()

    assert Training().model.size == 3


def test_annotations_without_the_future_import_work() -> None:
    source = """
from typing import Optional, List
from burn.config import Config, Enumeration, variant

class A(Config):
    b: "B"
    more: Optional["B"] = None
    many: List["B"] = []

class B(Config):
    x: int = 1

assert A.from_json(A(B(2), B(3), [B()]).to_json()) == A(B(2), B(3), [B()])
def f():
    class C(Config):
        a: A
        d: int | None
    return C
assert f()(A(B())).d is None
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_code_without_a_module_can_declare_configs() -> None:
    names: dict[str, Any] = {"Config": Config}
    exec("class A(Config):\n    x: 'Number'\nNumber = int\nvalue = A(3)", names)
    assert names["value"].x == 3


def test_generic_configs_take_what_their_argument_says() -> None:
    class Holder(Config):
        box: Box[int]
        any: Box[str] | None = None

    assert Box("a").content == "a"
    assert IntegerBox(3).content == 3
    with pytest.raises(ConfigError, match="content: expected int, got 'a'"):
        IntegerBox("a")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"box.content: expected int, got 'a'"):
        Holder(Box("a"))  # type: ignore[arg-type]
    assert Holder.from_json(Holder(Box(3), Box("x")).to_json()) == Holder(Box(3), Box("x"))


def test_new_types_are_their_supertype() -> None:
    class Sized(Config):
        count: Count

    assert Sized(Count(3)).count == 3


def test_types_that_json_cannot_write_are_refused_all_at_once() -> None:
    class Strange(Config):
        good: int
        number: complex
        keyed: dict[tuple[int, int], str]
        unknown: NoSuchName  # type: ignore[name-defined]  # noqa: F821
        save: int  # type: ignore[assignment]

    with pytest.raises(ConfigError) as error:
        Strange(1)  # type: ignore[call-arg]
    text = str(error.value)
    assert "Strange: 4 faults" in text
    assert "number: complex is not written to JSON" in text
    assert "keyed: the keys of an object in JSON are text" in text
    assert "unknown: its annotation `NoSuchName` names 'NoSuchName', which is not there" in text
    assert "save: every config has a method of this name; choose another" in text


def test_declaring_reads_no_annotation() -> None:
    class Unread(Config):
        x: no_such_module.NoSuchName  # type: ignore[name-defined]  # noqa: F821

    assert issubclass(Unread, Config)


def test_the_signature_is_the_constructor() -> None:
    assert str(inspect.signature(SgdConfig)).startswith("(momentum: 'float | None' = None")
    assert list(inspect.signature(Conv2dConfig).parameters) == ["channels", "kernel_size", "stride", "padding"]


@pytest.mark.parametrize(
    "value", [LinearConfig(3, 4), AdamConfig(weight_decay=WeightDecayConfig(0.1)), Node("a", [Node("b")])]
)
def test_configs_are_copied_and_pickled(value: Config) -> None:
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert pickle.loads(pickle.dumps(value)).replace() == value


def test_a_pickled_config_has_its_methods_in_a_fresh_process() -> None:
    data = pickle.dumps(LinearConfig(3, 4))
    program = (
        f"import pickle; c = pickle.loads({data!r}); assert c.with_bias(False).bias is False, 'with_d_input' in dir(c)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_an_enumeration_has_no_fields_of_its_own() -> None:
    with pytest.raises(ConfigError, match="Shared: scale: fields belong to a variant"):

        class Shared(Enumeration):
            A = variant()
            scale: int = 1
