"""Adaptors: how the output of a step becomes the input of each metric.

One output serves many metrics. Its class says how, in one of two ways: a method

    def adapt(self, input_type):
        if input_type is LossInput:
            return LossInput(self.loss)
        return NotImplemented

or one registered function for each input class, which also serves classes that are not yours:

    @register_adaptor(MyOutput, LossInput)
    def loss_of(output):
        return LossInput(output.loss)

A registered function comes first; those of base classes are inherited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, overload, runtime_checkable

from burn.errors import BurnError
from burn.train.metric.protocol import Metric

T = TypeVar("T")
Output = TypeVar("Output")
Function = Callable[[Any], Any]

_REGISTERED: dict[tuple[type, type], Function] = {}
_FOUND: dict[tuple[type, type], Function] = {}


class AdaptorError(BurnError, TypeError):
    """A step's output that a metric cannot read. The message names every metric and what it needs.

    >>> from burn.train.metric import AccuracyMetric, AdaptorError, adapt
    >>> try:
    ...     adapt(0.5, AccuracyMetric())
    ... except AdaptorError as error:
    ...     print(str(error).split(";")[0])
    metric 'Accuracy': needs AccuracyInput, and float does not adapt to it
    """


@runtime_checkable
class Adaptor(Protocol):
    """An output that knows how to become inputs of metrics; `register_adaptor` serves classes that do not.

    >>> from burn.train.metric import LossInput, LossMetric, adapt
    >>> class Output:
    ...     def __init__(self, loss): self.loss = loss
    ...     def adapt(self, input_type):
    ...         return LossInput(self.loss) if input_type is LossInput else NotImplemented
    >>> adapt(Output(0.5), LossMetric())
    LossInput(tensor=0.5)
    """

    def adapt(self, input_type: type[Any]) -> Any:
        """The input of that class (`input_type`), or NotImplemented."""


@overload
def register_adaptor(output_class: type[Output], input_class: type[T], function: Callable[[Output], T]) -> None: ...
@overload
def register_adaptor(
    output_class: type[Output], input_class: type[T]
) -> Callable[[Callable[[Output], T]], Callable[[Output], T]]: ...
def register_adaptor(output_class: type, input_class: type, function: Function | None = None) -> Any:
    """Say how outputs of a class become inputs of a class. Without a `function` it is a decorator of one.

    `output_class` is what a step gives, `input_class` what a metric reads.

    >>> from burn.train.metric import LossInput, LossMetric, adapt, register_adaptor
    >>> class Output:
    ...     def __init__(self, loss): self.loss = loss
    >>> @register_adaptor(Output, LossInput)
    ... def loss_of(output):
    ...     return LossInput(output.loss)
    >>> adapt(Output(0.5), LossMetric())
    LossInput(tensor=0.5)
    """
    if function is None:

        def decorate(decorated: Function) -> Function:
            register_adaptor(output_class, input_class, decorated)
            return decorated

        return decorate
    _REGISTERED[output_class, input_class] = function
    _FOUND.clear()
    return None


def registered(output_class: type, input_class: type) -> Function | None:
    """The function registered for the class or its nearest base."""
    for each in output_class.__mro__:
        function = _REGISTERED.get((each, input_class))
        if function is not None:
            return function
    return None


def adapt(output: Any, metric: Metric[Any]) -> Any:
    """The input of `metric` made of a step's output; None for a metric that needs none.

    >>> import burn
    >>> from burn.train import LossMetric, RegressionOutput
    >>> from burn.train.metric import adapt
    >>> x = burn.tensor([1.0, 2.0])
    >>> adapt(RegressionOutput(loss=x.mean(), output=x, targets=x), LossMetric()).tensor.item()
    1.5
    """
    input_type = metric.input_type
    if input_type is None:
        return None
    key = (type(output), input_type)
    function = _FOUND.get(key)
    if function is None:
        function = _FOUND[key] = _find(output, input_type, metric)
    item = function(output)
    if item is NotImplemented or item is None:
        _FOUND.pop(key, None)
        raise AdaptorError(_advice(type(output), input_type, metric))
    return item


def check_adaptors(output: Any, metrics: Iterable[Metric[Any]]) -> None:
    """Raise one error that names every metric that cannot read this output.

    `metrics` are those that should.

    >>> from burn.train.metric import AccuracyMetric, LearningRateMetric, check_adaptors
    >>> check_adaptors("any output", [LearningRateMetric()])
    >>> try:
    ...     check_adaptors("any output", [LearningRateMetric(), AccuracyMetric()])
    ... except TypeError as error:
    ...     print(str(error).split(";")[0])
    metric 'Accuracy': needs AccuracyInput, and str does not adapt to it
    """
    faults = []
    for metric in metrics:
        try:
            adapt(output, metric)
        except AdaptorError as error:
            faults.append(str(error))
    if faults:
        raise AdaptorError("\n".join(faults))


def _find(output: Any, input_type: type, metric: Metric[Any]) -> Function:
    function = registered(type(output), input_type)
    if function is not None:
        return function
    if isinstance(output, input_type):
        return lambda item: item
    if isinstance(output, Adaptor):
        return lambda item: item.adapt(input_type)
    raise AdaptorError(_advice(type(output), input_type, metric))


def _advice(output: type, input_type: type, metric: Metric[Any]) -> str:
    return (
        f"metric {metric.name()!r}: needs {input_type.__name__}, and {output.__name__} does not adapt to it; "
        f"write register_adaptor({output.__name__}, {input_type.__name__}, lambda output: {input_type.__name__}(...)), "
        f"or give {output.__name__} a method adapt(self, input_type) that returns one"
    )
