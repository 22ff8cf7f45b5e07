"""Named tensors: a small attention score computed without counting dimensions.

Run with `python -m examples.named_tensor`.
"""

from __future__ import annotations

from burn.backend import NdArray
from burn.errors import ShapeError
from burn.tensor import Distribution, Tensor
from burn.tensor.named import NamedTensor


def main() -> None:
    """Multiply, rearrange and add by name, and show what a mistake looks like."""
    device = NdArray()
    device.seed(1)

    query = NamedTensor(Tensor.random([2, 3, 4], Distribution.Default, device), ("batch", "query", "channel"))
    key = NamedTensor(Tensor.random([2, 5, 4], Distribution.Default, device), ("batch", "key", "channel"))
    bias = NamedTensor(Tensor.random([5, 3], Distribution.Default, device), ("key", "query"))

    scores = query.matmul(key)
    print(f"{query!r} @ {key!r}\n  = {scores!r}")

    biased = scores + bias
    print(f"the bias is {bias!r}, and is turned to fit\n  = {biased!r}")

    print(f"rearranged\n  = {biased.rearrange(('key', 'batch', 'query'))!r}")
    print(f"averaged over the keys\n  {biased.exp().mean_dim('key')}")

    try:
        query + NamedTensor(Tensor.zeros([7], device), ("channel",))
    except ShapeError as error:
        print(f"a mistake is told by name:\n  {error}")


if __name__ == "__main__":
    main()
