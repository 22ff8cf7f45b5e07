"""A whole model: its graph, its functions, and what the file says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from burn.classes import dataclass
from burn_import.onnx.ir.graph import Attribute, Graph

FunctionKey = tuple[str, str, str]  # domain, name, overload


@dataclass(slots=True)
class Function:
    """An operator that the model defines itself: a graph whose inputs have no types, and attributes with defaults.

    `required` names the attributes a call must give; `defaults` has the values of the others. In `body` a
    `Reference` stands where the attribute of the call goes.
    """

    domain: str
    name: str
    overload: str
    body: Graph
    opset_imports: dict[str, int]
    required: tuple[str, ...] = ()
    defaults: dict[str, Attribute] = field(default_factory=dict)

    @property
    def key(self) -> FunctionKey:
        return self.domain, self.name, self.overload


@dataclass(slots=True)
class Model:
    """What `reader.read` gives and every pass takes.

    `properties` are the facts that passes established, such as "sorted" or "lifted"; see `passes.driver`.
    """

    graph: Graph
    opset_imports: dict[str, int] = field(default_factory=dict)
    functions: dict[FunctionKey, Function] = field(default_factory=dict)
    ir_version: int = 0
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    model_version: int = 0
    doc: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    source: str | None = None
    notes: list[str] = field(default_factory=list)
    properties: set[str] = field(default_factory=set)
    is_whole: bool = True
    """Whether the file holds everything: no data lie beside it."""

    def graphs(self) -> Iterator[Graph]:
        """Every graph: the main one, its bodies, and those of functions."""
        yield from self.graph.graphs()
        for function in self.functions.values():
            yield from function.body.graphs()

    def __str__(self) -> str:
        from burn_import.onnx.ir.printer import to_text

        return to_text(self)
