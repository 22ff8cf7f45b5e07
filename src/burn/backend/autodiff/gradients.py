"""Gradients as a value: what `backward` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from burn.errors import AutodiffError

if TYPE_CHECKING:
    from burn.backend.autodiff.graph import Node
    from burn.device import Device
    from burn.tensor import Tensor

I_co = TypeVar("I_co", bound="Device", default="Device", covariant=True)


class Gradients(Generic[I_co]):
    """The gradient of every tensor that required one, on the device below `Autodiff`. `backward` makes them.

    Arguments:
        by_node: the gradients by the nodes of the graph.

    >>> w = burn.tensor([2.0, 3.0], device=burn.NdArray().autodiff()).require_grad()
    >>> grads = (w * w).sum().backward()
    >>> grads[w].tolist(), grads.get(w).tolist(), w in grads, len(grads)
    ([4.0, 6.0], [4.0, 6.0], True, 1)
    """

    def __init__(self, by_node: dict[Node, Tensor[I_co]]) -> None:
        self._by_node = by_node
        self.taken: set[Any] = set()
        """The ids of the parameters whose gradients were taken out."""

    def get(self, tensor: Tensor) -> Tensor[I_co] | None:
        """The gradient of `tensor`, or None if none reached it."""
        return self._by_node.get(_node(tensor))  # type: ignore[arg-type]

    def remove(self, tensor: Tensor) -> Tensor[I_co] | None:
        """Take the gradient of `tensor` out.

        >>> w = burn.tensor([2.0, 3.0], device=burn.NdArray().autodiff()).require_grad()
        >>> grads = (w * w).sum().backward()
        >>> grads.remove(w).tolist(), w in grads
        ([4.0, 6.0], False)
        """
        found = self._by_node.pop(_node(tensor), None)  # type: ignore[arg-type]
        if found is not None:
            self.taken.add(getattr(tensor, "id", None))
        return found

    def replace(self, tensor: Tensor, gradient: Tensor) -> None:
        """Put another `gradient` in the place of the one of `tensor`.

        >>> w = burn.tensor([2.0, 3.0], device=burn.NdArray().autodiff()).require_grad()
        >>> grads = (w * w).sum().backward()
        >>> grads.replace(w, grads[w].clamp_max(5.0))
        >>> grads[w].tolist()
        [4.0, 5.0]
        """
        node = _node(tensor)
        if node is None:
            raise AutodiffError("grad_replace: this tensor requires no gradient; create it with .require_grad()")
        self._by_node[node] = gradient  # type: ignore[assignment]

    def owners(self) -> set[Any]:
        """The ids of the parameters whose gradients are here.

        >>> layer = nn.LinearConfig(2, 1).init(burn.NdArray().autodiff())
        >>> grads = layer(Tensor.ones([1, 2], burn.NdArray())).sum().backward()
        >>> grads.owners() == {layer.weight.id, layer.bias.id}
        True
        """
        return {owner for node in self._by_node if (owner := getattr(node, "owner", None)) is not None}

    def __getitem__(self, tensor: Tensor) -> Tensor[I_co]:
        found = self.get(tensor)
        if found is None:
            raise KeyError(
                f"no gradient reached this tensor of shape {tuple(tensor.shape)}: mark it with .require_grad() before "
                "it is used, and check that the result depends on it"
            )
        return found

    def __contains__(self, tensor: Tensor) -> bool:
        return self.get(tensor) is not None

    def __len__(self) -> int:
        return len(self._by_node)

    def __repr__(self) -> str:
        return f"<Gradients of {len(self)} tensors>"


def _node(tensor: Tensor) -> Node | None:
    try:
        return tensor.handle.node  # type: ignore[no-any-return]
    except AttributeError:
        raise AutodiffError(
            f"grad: this tensor lives on {tensor.device!r}, which records no graph; "
            f"create it on {tensor.device!r}.autodiff()"
        ) from None
