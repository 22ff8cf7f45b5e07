"""Networks of sequences in plain PyTorch: BERT, GPT-2, the encoder of Whisper, and a recurrent classifier.

The structure is that of the published models (masks, token types, causal attention, tied embeddings, a convolution
stem with sinusoids), the sizes are small.
"""

# mypy: disable-error-code="no-any-return"
# what a module of PyTorch gives when it is called is Any

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class BertLayer(nn.Module):
    """Attention under a mask, written out, and a feed-forward part; norms after the sums."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.output, self.attention_norm = nn.Linear(size, size), nn.LayerNorm(size, eps=1e-12)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.output_norm = nn.LayerNorm(size, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.heads = heads

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, size // self.heads).transpose(1, 2)

        scores = split(self.query(x)) @ split(self.key(x)).transpose(-1, -2)
        shares = self.dropout(torch.softmax(scores / math.sqrt(size // self.heads) + mask, -1))
        found = (shares @ split(self.value(x))).transpose(1, 2).reshape(batch, length, size)
        x = self.attention_norm(x + self.dropout(self.output(found)))
        return self.output_norm(x + self.dropout(self.down(functional.gelu(self.up(x)))))


class Bert(nn.Module):
    """Words, positions and token types; layers; and a pooler on the first token."""

    places: torch.Tensor

    def __init__(self, layers: int = 2, size: int = 16, heads: int = 4, words: int = 40, dropout: float = 0.0) -> None:
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(words, size), nn.Embedding(24, size), nn.Embedding(2, size)
        self.norm = nn.LayerNorm(size, eps=1e-12)
        self.layer = nn.ModuleList(BertLayer(size, heads, dropout) for _ in range(layers))
        self.pooler = nn.Linear(size, size)
        self.register_buffer("places", torch.arange(24)[None], persistent=False)

    def forward(
        self, tokens: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        places = self.places[:, : tokens.shape[1]]
        x = self.norm(self.word(tokens) + self.position(places) + self.kind(kinds))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layer:
            x = layer(x, hidden)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Affine(nn.Module):
    """A linear layer whose weight is stored inputs first, as in the original GPT-2."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(0.2 * torch.randn(inputs, outputs)), nn.Parameter(torch.zeros(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sizes = (*x.shape[:-1], self.weight.shape[1])
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).view(sizes)


class GptLayer(nn.Module):
    """Causal attention and a feed-forward part with the tanh form of GELU; norms first."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.c_attn, self.c_proj = Affine(size, 3 * size), Affine(size, size)
        self.up, self.down = Affine(size, 4 * size), Affine(4 * size, size)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, size // self.heads).transpose(1, 2)

        query, key, value = self.c_attn(self.ln_1(x)).split(size, 2)
        found = functional.scaled_dot_product_attention(split(query), split(key), split(value), is_causal=True)
        x = x + self.c_proj(found.transpose(1, 2).reshape(batch, length, size))
        return x + self.down(functional.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """Words and learned positions, causal layers, and a head that shares the embedding of the words."""

    def __init__(self, layers: int = 2, size: int = 16, heads: int = 4, words: int = 40) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, size), nn.Embedding(24, size)
        self.h = nn.ModuleList(GptLayer(size, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(size)
        self.lm_head = nn.Linear(size, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


class WhisperLayer(nn.Module):
    """Attention whose keys have no bias, and a feed-forward part; norms first."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(size, size),
            nn.Linear(size, size, bias=False),
            nn.Linear(size, size),
        )
        self.out, self.attn_ln = nn.Linear(size, size), nn.LayerNorm(size)
        self.up, self.down, self.mlp_ln = nn.Linear(size, 4 * size), nn.Linear(4 * size, size), nn.LayerNorm(size)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape
        y = self.attn_ln(x)
        heads = [
            each(y).view(batch, length, self.heads, size // self.heads).permute(0, 2, 1, 3)
            for each in (self.query, self.key, self.value)
        ]
        scale = (size // self.heads) ** -0.25
        shares = torch.softmax((heads[0] * scale) @ (heads[1] * scale).transpose(-1, -2), -1)
        x = x + self.out((shares @ heads[2]).permute(0, 2, 1, 3).flatten(2))
        return x + self.down(functional.gelu(self.up(self.mlp_ln(x))))


class WhisperEncoder(nn.Module):
    """Two convolutions over a spectrogram, sinusoids, layers and a norm."""

    sinusoids: torch.Tensor

    def __init__(self, layers: int = 2, bands: int = 8, size: int = 16, heads: int = 4, places: int = 32) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(bands, size, 3, padding=1), nn.Conv1d(size, size, 3, 2, 1)
        rates = torch.exp(-math.log(10000) / (size // 2 - 1) * torch.arange(size // 2))
        angles = torch.arange(places)[:, None] * rates[None]
        self.register_buffer("sinusoids", torch.cat([angles.sin(), angles.cos()], 1))
        self.blocks = nn.ModuleList(WhisperLayer(size, heads) for _ in range(layers))
        self.ln_post = nn.LayerNorm(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.gelu(self.conv2(functional.gelu(self.conv1(x)))).permute(0, 2, 1)
        x = x + self.sinusoids[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.ln_post(x)


class Recurrent(nn.Module):
    """Words, two layers of an LSTM in both directions, and a classifier on the last place."""

    def __init__(self, size: int = 8, words: int = 40, classes: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.lstm = nn.LSTM(size, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.classifier = nn.Linear(12, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found, _ = self.lstm(self.embedding(tokens))
        return self.classifier(found[:, -1])
