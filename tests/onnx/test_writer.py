"""The parts that source is made of: expressions, names, layout, and operators of one's own."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import burn
from burn_import.onnx import load, register_op
from burn_import.onnx.code.expression import Expression, binary, conditional, literal, rounded, unary
from burn_import.onnx.code.holes import between, hole_hint, join, merged, split
from burn_import.onnx.code.layout import WIDTH, lay_out, lay_out_statement
from burn_import.onnx.code.names import RESERVED, Names, camel, snake
from burn_import.onnx.command import main
from burn_import.onnx.ir import ElementType
from burn_import.onnx.operators import rows
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import ROWS

X, Y = Expression.name("x"), Expression.name("y")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (binary("*", binary("+", X, 1), 2), "(x + 1) * 2"),
        (binary("+", binary("*", X, 2), 1), "x * 2 + 1"),
        (binary("-", X, binary("-", Y, 1)), "x - (y - 1)"),
        (binary("-", binary("-", X, Y), 1), "x - y - 1"),
        (binary("**", unary("-", X), 2), "(-x) ** 2"),
        (unary("-", binary("**", X, 2)), "-(x**2)"),
        (binary("+", X, Y).method("exp"), "(x + y).exp()"),
        (binary("@", X, Y).attribute("shape").item(-1), "(x @ y).shape[-1]"),
        (X.method("reshape", [2, -1], mode="a'b\n"), 'x.reshape([2, -1], mode="a\'b\\n")'),
        (X.method("cast", ElementType.f32), "x.cast(burn.f32)"),
        (X.method("cast", ElementType.f8e4m3fn), "x.cast(burn.dtype.f8e4m3fn)"),
        (conditional(binary("==", X, 1), X, Y), "x if x == 1 else y"),
        (literal((1,)), "(1,)"),
        (literal(np.float32(0.1)), "0.1"),
        (literal(float("-inf")), 'float("-inf")'),
        (literal(3).attribute("real"), "(3).real"),
        (X.part(1, None, 2), "x[1::2]"),
        (X.part(None, binary("-", Y, 1)), "x[: y - 1]"),
        (X.part(Y.attribute("size"), None), "x[y.size :]"),
        (binary("**", X, 2.0), "x**2.0"),
        (binary("**", X.method("exp"), 2.0), "x.exp() ** 2.0"),
        (literal(3.4e38), "3.4e38"),
    ],
)
def test_expressions_have_brackets_where_python_needs_them(expression: Expression, text: str) -> None:
    assert expression.text == text


@given(st.recursive(st.sampled_from(["x", "y", "2"]), lambda inner: st.tuples(st.sampled_from("+-*@"), inner, inner)))
def test_the_text_of_an_expression_parses_to_the_tree_it_was_built_as(tree: object) -> None:
    def build(each: object) -> Expression:
        if isinstance(each, str):
            return literal(2) if each == "2" else Expression.name(each)
        operator, left, right = each  # type: ignore[misc]
        return binary(operator, build(left), build(right))

    def bracketed(each: object) -> str:
        if isinstance(each, str):
            return each
        operator, left, right = each  # type: ignore[misc]
        return f"({bracketed(left)} {operator} {bracketed(right)})"

    assert ast.dump(ast.parse(build(tree).text)) == ast.dump(ast.parse(bracketed(tree)))


@given(st.text())
def test_any_text_becomes_an_identifier_that_is_free(text: str) -> None:
    names = Names()
    first, second = names.fresh(text), names.fresh(text)
    assert first.isidentifier()
    assert first.isascii()
    assert first not in RESERVED
    assert first != second


def test_names_read_as_words() -> None:
    assert snake("ConvTranspose") == "conv_transpose"
    assert snake("/layer1/layer1.0/conv1/Conv") == "layer1_layer1_0_conv1_conv"
    assert camel("encoder_layer") == "EncoderLayer"
    assert Names().fresh("class") == "class_"
    assert rounded(float(np.float32(1e-5))) == 1e-5


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=80), st.text(max_size=200))
def test_long_statements_are_laid_out_without_changing_what_they_say(numbers: list[int], text: str) -> None:
    statement = f"result = x.reshape({numbers}).method({text!a}, name={text!a}, z=[y.shape[0], (1, 2)]).softmax(1)"
    lines = lay_out(statement, 0)
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(statement))
    assert all(len(line) <= WIDTH for line in lines)


@pytest.fixture
def kept_rows() -> Iterator[None]:
    before = dict(rows())
    yield
    ROWS.clear()
    ROWS.update(before)


def custom() -> onnx.ModelProto:
    node = helper.make_node("Twice", ["x"], ["y"], domain="my.domain")
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("my.domain", 1)]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.usefixtures("kept_rows")
def test_a_user_adds_an_operator_in_one_function() -> None:
    @register_op("my.domain", "Twice", 1, types=lambda op: op.set(op.shape(0), dtype=op.dtype(0)))
    def twice(op: Operation) -> Expression:
        return binary("*", op.x, 2.0)

    model = load(custom(), burn.NdArray())
    assert "x * 2.0" in model.source
    assert model.run({"x": np.array([1, 2], np.float32)})["y"].tolist() == [2.0, 4.0]


@pytest.mark.usefixtures("kept_rows")
def test_the_command_runs_plugins_before_it_imports(tmp_path: Path) -> None:
    onnx.save(custom(), tmp_path / "model.onnx")
    arguments = ["--input", str(tmp_path / "model.onnx"), "--output", str(tmp_path / "out"), "--quiet"]
    assert main(arguments) == 1
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from burn_import.onnx import register_op\n\n\n"
        "@register_op('my.domain', 'Twice')\n"
        "def twice(op):\n"
        "    return op.x.method('mul', 2.0)\n"
    )
    assert main([*arguments, "--plugin", str(plugin)]) == 0
    assert "x.mul(2.0)" in (tmp_path / "out.py").read_text()


def test_every_row_stands_in_a_family_and_names_an_operator_that_exists() -> None:
    from burn_import.onnx.ir import schemas

    known = set(schemas.operators())
    for (domain, name), row in rows().items():
        assert row.family not in ("registry", "operation")
        if domain in ("", "ai.onnx.ml") and name != "SimplifiedLayerNormalization":  # as ONNX Runtime writes it
            assert (domain, name) in known, name


def test_long_lists_without_brackets_get_some() -> None:
    names = ", ".join(f"variable_{index}" for index in range(12))
    for statement in (f"return {names}", f"{names} = function(x, y)", f"{names} = {names}"):
        lines = lay_out_statement(statement, 8)
        assert max(map(len, lines)) <= WIDTH
        ast.parse("def f():\n    if True:\n" + "\n".join(lines))


def test_rows_can_be_asked_for_before_anything_else_is_loaded() -> None:
    program = "from burn_import.onnx.operators import rows; assert rows()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", [[3], [2, 2]])
def test_texts_of_any_rank_are_constants_of_the_source(shape: list[int]) -> None:
    words = ["plain", 'it\'s "quoted"', "new\nline", "\u202e"][: int(np.prod(shape))]
    tensor = helper.make_tensor("words", onnx.TensorProto.STRING, shape, [word.encode() for word in words])
    node = helper.make_node("StringConcat", ["x", "words"], ["y"])
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.STRING, shape) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:], [tensor])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    given = np.full(shape, "a ", object)
    found = load(proto, burn.NdArray()).run({"x": given})["y"]
    assert found.reshape(-1).tolist() == [f"a {word}" for word in words]


def test_numbers_of_a_constructor_are_holes() -> None:
    text = 'nn.conv.Conv2dConfig((8, 16), (3, 3), stride=(2, 2), eps=1e-05, mode="a 7").init(device)'
    parts, numbers = split(text)
    assert numbers == (8, 16, 3, 3, 2, 2)
    assert join(parts, [str(number) for number in numbers]) == text
    hints = [hole_hint("nn.conv.Conv2d", parts, place) for place in range(6)]
    assert hints == ["channels_in", "channels_out", "kernel_size", "kernel_size", "stride", "stride"]


def test_a_size_that_goes_in_and_comes_out_has_another_name() -> None:
    assert between(["channels_in", "channels_out"]) == "channels"
    assert between(["channels_out", "channels_in"]) == "hidden"
    assert between(["d_input"]) == "d_input"


def test_comments_of_several_blocks_are_one() -> None:
    assert merged(["(b, 8, 4)", "(b, 16, 2)"], {(8, 16): "channels"}) == "(b, channels, _)"
    assert merged(["(b, 8)", "(b, 8)"], {}) == "(b, 8)"
    assert merged(["(b, 8)", "(8,)"], {}) == ""
