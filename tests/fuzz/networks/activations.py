"""Activations of every kind."""

from __future__ import annotations

from tests.fuzz.networks.drawing import Unfit, Writer
from tests.fuzz.networks.network import Drawn

PLAIN = {
    "nn.Relu()": "F.relu($0)", "nn.Relu6()": "F.relu6($0)", "nn.Gelu()": "F.gelu($0)",
    "nn.Gelu(approximate=True)": 'F.gelu($0, approximate="tanh")', "nn.HardSwish()": "F.hardswish($0)",
    "nn.LogSigmoid()": "F.logsigmoid($0)", "nn.Mish()": "F.mish($0)", "nn.Selu()": "F.selu($0)",
    "nn.SiLU()": "F.silu($0)", "nn.Sigmoid()": "torch.sigmoid($0)", "nn.Softsign()": "F.softsign($0)",
    "nn.Tanh()": "torch.tanh($0)", "nn.Tanhshrink()": "F.tanhshrink($0)",
}  # fmt: skip
WITH_NUMBER = {
    "nn.LeakyReluConfig({a}).init()": "F.leaky_relu($0, {a})",
    "nn.EluConfig({a}).init()": "F.elu($0, {a})",
    "nn.CeluConfig({a}).init()": "peers.celu($0, {a})",
    "nn.HardtanhConfig(-{a}, {a}).init()": "F.hardtanh($0, -{a}, {a})",
    "nn.HardShrinkConfig({a}).init()": "F.hardshrink($0, {a})",
    "nn.SoftShrinkConfig({a}).init()": "F.softshrink($0, {a})",
    "nn.SoftplusConfig({a}).init()": "F.softplus($0, {a}, 1000.0)",
    "nn.ThresholdConfig({a}, 0.5).init()": "F.threshold($0, {a}, 0.5)",
    "nn.HardSigmoidConfig({a}, 0.5).init()": "torch.clamp({a} * $0 + 0.5, 0.0, 1.0)",
    "nn.ThresholdedReluConfig({a}).init()": "torch.where($0 > {a}, $0, torch.zeros_like($0))",
}
STEPPED = ("HardShrink", "Threshold")
"""Activations that jump: next to the jump nothing can be said, so they come rarely."""


def activation(w: Writer, x: int | None = None) -> int:
    """An activation without parameters."""
    x = w.pick() if x is None else x
    if w.chance(0.6):
        ours = w.one(list(PLAIN))
        return w.add([x], "$m($0)", PLAIN[ours], ours)
    ours = w.one(list(WITH_NUMBER))
    if any(word in ours for word in STEPPED) and w.chance(0.8):
        raise Unfit
    number = w.one((0.1, 0.25, 0.5, 1.0, 1.5))
    return w.add([x], "$m($0)", WITH_NUMBER[ours].format(a=number), ours.format(a=number))


COMMON = ("nn.Relu()", "nn.Relu()", "nn.Relu6()", "nn.HardSwish()", "nn.SiLU()", "nn.Gelu()")


def relu(w: Writer, x: int | None = None, ours: str | None = None) -> int:
    """One of the commonest activations, as kernels fuse them."""
    x = w.pick() if x is None else x
    ours = ours or w.one(COMMON)
    return w.add([x], "$m($0)", PLAIN[ours], ours)


def learnt(w: Writer) -> int:
    """The rectifier whose slope is learnt."""
    x = w.pick(2, 3, 4)
    count = w.one((1, w.shape(x)[1]))
    parameters = {"alpha": Drawn((count,), 0.2, 0.2)}
    return w.add([x], "$m($0)", "F.prelu($0, $.alpha)", f"nn.PReluConfig({count}).init(device)", parameters)


def softmax(w: Writer) -> int:
    """Shares along a dim, or their logarithms."""
    x = w.pick()
    dim = w.random.randrange(len(w.shape(x)))
    name = w.one(("softmax", "log_softmax"))
    return w.add([x], f"$0.{name}({dim})", f"F.{name}($0, {dim})")


def gated(w: Writer) -> int:
    """Half of the features weighs the other half."""
    x = w.pick(2, 3, 4)
    shape = w.shape(x)
    if w.chance(0.5):
        dim = w.random.randrange(len(shape))
        if shape[dim] % 2:
            raise Unfit
        return w.add([x], "$m($0)", f"F.glu($0, {dim})", f"nn.GLU({dim})")
    size, out = shape[-1], w.one((3, 8, 17))
    parameters = {f"linear_{side}.weight": w.weight((size, out), size) for side in ("inner", "outer")}
    theirs = "F.silu(peers.linear($0, $.linear_inner.weight)) * peers.linear($0, $.linear_outer.weight)"
    return w.add([x], "$m($0)", theirs, f"nn.SwiGluConfig({size}, {out}).init(device)", parameters)
