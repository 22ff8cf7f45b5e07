# Written by burn-import 0.1.0 from a model in memory
# (opset 17, producer: example 1).
# This file is yours: read it, edit it, train it. burn-import asks before it replaces an edited file.

from __future__ import annotations

from pathlib import Path

import burn
from burn import Device, Module, Tensor, nn


class Model(Module):
    """The graph voice."""

    wide_basis: nn.conv.Conv1d
    wide_conv: nn.conv.Conv1d
    narrow_basis: nn.conv.Conv1d
    narrow_conv: nn.conv.Conv1d
    rnn: nn.Lstm
    head: nn.Linear

    def __init__(self, device: Device) -> None:
        self.wide_basis = nn.conv.Conv1dConfig(1, 32, 128, stride=64, bias=False).init(device)
        self.wide_conv = nn.conv.Conv1dConfig(32, 24, 3, padding=nn.PaddingConfig1d.Explicit(1)).init(device)
        self.narrow_basis = nn.conv.Conv1dConfig(1, 32, 64, stride=32, bias=False).init(device)
        self.narrow_conv = nn.conv.Conv1dConfig(
            32,
            24,
            3,
            padding=nn.PaddingConfig1d.Explicit(1),
        ).init(device)
        self.rnn = nn.LstmConfig(24, 16, True, batch_first=False).init(device)
        self.head = nn.LinearConfig(16, 1).init(device)

    def forward(
        self,
        samples: Tensor,  # f32 (batch, 512)
        rate: Tensor,  # i64 ()
        h: Tensor,  # f32 (1, batch, 16)
        c: Tensor,  # f32 (1, batch, 16)
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gives probability f32 (batch, 1), h_out f32 (1, batch, 16), c_out f32 (1, batch, 16)."""
        equal = rate.equal(16000)  # ()
        if equal.item():
            wide_conv = self.wide_conv(self.wide_basis(samples.unsqueeze_dim(1)).relu())  # (batch, 24, 7)
            chosen = wide_conv.relu()
        else:
            narrow_conv = self.narrow_conv(self.narrow_basis(samples.unsqueeze_dim(1)).relu())
            chosen = narrow_conv.relu()
        lstm, state = self.rnn(chosen.permute([2, 0, 1]), nn.LstmState(c.squeeze_dim(0), h.squeeze_dim(0)))
        h_out = state.hidden.unsqueeze_dim(0)  # (1, batch, 16)
        c_out = state.cell.unsqueeze_dim(0)  # (1, batch, 16)
        probability = self.head(lstm.mean_dims([0]).squeeze_dim(0)).sigmoid()  # (batch, 1)
        return probability, h_out, c_out

    @classmethod
    def default(cls) -> Model:
        """The model with its trained weights, on the default device."""
        return cls.from_file(Path(__file__).with_name("voice.mpk"), burn.default_device())

    @classmethod
    def from_file(cls, path: str | Path, device: Device) -> Model:
        """The model with the weights of a file."""
        return cls(device).load_file(path, burn.record.NamedMpkFileRecorder())

    @classmethod
    def from_bytes(cls, data: bytes, device: Device) -> Model:
        """The model with the weights that some bytes hold."""
        return cls(device).load_record(burn.record.NamedMpkBytesRecorder().load(data))

    @classmethod
    def from_embedded(cls, device: Device) -> Model:
        """The model with the weights that stand in this file."""
        raise RuntimeError("from_embedded: no weights are in this file; import it with --embed")
