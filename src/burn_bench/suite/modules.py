"""The training workloads written with `burn.nn` and `burn.optim`, as users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn_bench.benchmark import Setting, Work, finished
from burn_bench.expression import compiler
from burn_bench.suite.functions import BurnFunctions, drawn_weights

Step = Callable[[], Any]


def mlp(device: Any, exact: bool) -> Any:
    """784-512-10."""
    from burn.module import Module
    from burn.nn import Linear, LinearConfig

    class Mlp(Module):
        first: Linear
        last: Linear

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x).relu())

    return Mlp(LinearConfig(784, 512).init(device), LinearConfig(512, 10).init(device))


def guide_cnn(device: Any, exact: bool) -> Any:
    """The network of the guide; the exact one has no dropout."""
    from burn.module import Module
    from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig
    from burn.nn.conv import Conv2d, Conv2dConfig
    from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig

    class Model(Module):
        conv1: Conv2d
        conv2: Conv2d
        linear1: Linear
        linear2: Linear
        pool: AdaptiveAvgPool2d
        dropout: Dropout

        def forward(self, x: Any) -> Any:
            x = self.dropout(self.conv1(x))
            x = self.dropout(self.conv2(x)).relu()
            x = self.pool(x).reshape([x.shape[0], 1024])
            return self.linear2(self.dropout(self.linear1(x)).relu())

    return Model(
        Conv2dConfig([1, 8], [3, 3]).init(device),
        Conv2dConfig([8, 16], [3, 3]).init(device),
        LinearConfig(1024, 512).init(device),
        LinearConfig(512, 10).init(device),
        AdaptiveAvgPool2dConfig([8, 8]).init(),
        DropoutConfig(0.0 if exact else 0.5).init(),
    )


def stepper(device: Any, task: Any, make: Callable[[Any, bool], Any], exact: bool, rate: float, epsilon: float) -> Step:
    """Training steps of a model under `burn.compile`, from the same weights as everybody's."""
    from burn.module import Param
    from burn.nn.loss import CrossEntropyLoss
    from burn.optim import AdamConfig, GradientsParams
    from burn.tensor import Tensor

    tracked = device.autodiff()
    network = task.exact if exact else task.network
    values = iter(drawn_weights(BurnFunctions(device), network, task.images[:1]).values)
    model = make(tracked, exact).map(lambda param: Param(next(values).to_device(tracked), param.id))
    optim = AdamConfig(epsilon=epsilon).init()
    images, labels = Tensor.from_data(task.images, tracked), Tensor.from_data(task.labels, tracked)
    loss_function = CrossEntropyLoss(None, tracked)

    def step(model: Any, optim: Any, images: Any, labels: Any, rate: float) -> Any:
        loss = loss_function(model(images), labels)
        grads = GradientsParams.from_grads(loss.backward(), model)
        return optim.step(rate, model, grads), loss.inner()

    call = compiler()(step)
    state = [model]

    def run() -> Any:
        state[0], loss = call(state[0], optim, images, labels, rate)
        return loss

    return run


def builder(
    task: Callable[[], Any], make: Callable[[Any, bool], Any], rate: float, epsilon: float, checked: int
) -> Any:
    """A builder of the engine family `modules`."""
    import numpy as np

    def build(setting: Setting) -> Work:
        found, device = task(), setting.device
        work = finished(device, stepper(device, found, make, False, rate, epsilon))

        def losses() -> list[Any]:
            step = stepper(device, found, make, True, rate, epsilon)
            return [np.array([step().item() for _ in range(checked)])]

        return Work(work.run, losses)

    return build
