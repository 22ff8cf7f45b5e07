"""What a recurrent layer carries from one step to the next. States are trees: captured functions take and give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from burn.classes import dataclass
from burn.device import Device
from burn.errors import ShapeError
from burn.shape import Shape
from burn.tensor import Tensor


@dataclass(frozen=True, eq=False)
class LstmState:
    """The two memories of an LSTM: `cell` keeps, `hidden` is what the layer gave out last.

    Of shape (batch, d_hidden); (2, batch, d_hidden) for a layer of both directions.

    >>> state = nn.LstmState.initial([2, 4], burn.default_device())
    >>> layer = nn.Lstm(3, 4)
    >>> output, state = layer(Tensor.ones([2, 5, 3]), state)
    >>> state.cell.shape, state.hidden.shape
    (Shape([2, 4]), Shape([2, 4]))
    """

    cell: Tensor
    hidden: Tensor

    @classmethod
    def initial(cls, shape: Sequence[int], device: Device) -> Self:
        """A state of zeros of this `shape`."""
        zeros: Tensor = Tensor.zeros(shape, device)
        return cls(zeros, zeros)

    @classmethod
    def stack(cls, states: Sequence[LstmState], dim: int = 0) -> Self:
        """States of one shape along a new dim."""
        return cls(
            Tensor.stack([state.cell for state in states], dim), Tensor.stack([state.hidden for state in states], dim)
        )

    @property
    def shape(self) -> Shape:
        """The shape of both memories."""
        return self.cell.shape

    @property
    def device(self) -> Device:
        """The device of both memories."""
        return self.cell.device

    def unpack(self) -> tuple[Tensor, Tensor]:
        """The cell and the hidden memory."""
        return self.cell, self.hidden

    def map_state(self, function: Callable[[Tensor], Tensor]) -> LstmState:
        """A function applied to both memories."""
        return LstmState(function(self.cell), function(self.hidden))

    def slice(self, *ranges: Any) -> LstmState:
        """A part of both memories: `ranges` are those of `Tensor.slice`."""
        return self.map_state(lambda x: x.slice(*ranges))

    def squeeze_dim(self, dim: int) -> LstmState:
        """Both memories without a dim of size 1."""
        return self.map_state(lambda x: x.squeeze_dim(dim))

    def unsqueeze_dim(self, dim: int) -> LstmState:
        """Both memories with a new dim of size 1."""
        return self.map_state(lambda x: x.unsqueeze_dim(dim))

    def chunk(self, chunks: int, dim: int = 0) -> list[LstmState]:
        """Both memories cut along a dim into so many `chunks`."""
        return [LstmState(*pair) for pair in zip(self.cell.chunk(chunks, dim), self.hidden.chunk(chunks, dim))]

    def __post_init__(self) -> None:
        cell, hidden = getattr(self.cell, "shape", None), getattr(self.hidden, "shape", None)
        if cell is not None and hidden is not None and cell != hidden:
            raise ShapeError(f"LstmState: cell {tuple(cell)} and hidden {tuple(hidden)} must have the same shape")


@dataclass(frozen=True, eq=False)
class RnnState:
    """The memory of a plain recurrent layer: what it gave out last, `hidden` (batch, d_hidden).

    >>> layer = nn.Rnn(3, 4)
    >>> output, state = layer(Tensor.ones([2, 5, 3]), nn.RnnState(Tensor.zeros([2, 4])))
    >>> state.hidden.shape
    Shape([2, 4])
    """

    hidden: Tensor
