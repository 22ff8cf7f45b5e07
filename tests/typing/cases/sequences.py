# pyright: reportAny=true
"""A classifier of sequences with a custom loss and a custom metric, trained by the learner."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import burn
from burn import Config, Module, Tensor
from burn.data.dataloader import Batcher, DataLoaderBuilder
from burn.data.dataset import Dataset, InMemDataset
from burn.data.dataset.transform import MapperDataset, ShuffledDataset, random_split
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.nn import Dropout, DropoutConfig, Embedding, EmbeddingConfig, Linear, LinearConfig, Lstm, LstmConfig
from burn.nn.loss import CrossEntropyLoss, CrossEntropyLossConfig
from burn.optim import AdamWConfig
from burn.record import CompactRecorder
from burn.train import ClassificationOutput, LearnerBuilder, NoRenderer, TrainOutput
from burn.train.metric import AccuracyMetric, LossMetric


@dataclass(frozen=True)
class Item:
    tokens: list[int]
    label: int


@dataclass
class Batch:
    tokens: Tensor
    labels: Tensor


class SequenceBatcher(Batcher[Item, Batch]):
    def __init__(self, length: int) -> None:
        self.length = length

    def batch(self, items: list[Item], device: burn.Device) -> Batch:
        rows = [item.tokens + [0] * (self.length - len(item.tokens)) for item in items]
        return Batch(
            Tensor.from_ints(rows, device),
            burn.tensor([item.label for item in items], device=device),
        )


class ModelConfig(Config):
    vocabulary: int
    classes: int
    hidden: int = 32
    dropout: float = 0.1

    def init(self, device: burn.Device) -> "Model":
        return Model(
            embedding=EmbeddingConfig(self.vocabulary, self.hidden).init(device),
            lstm=LstmConfig(self.hidden, self.hidden, True).init(device),
            dropout=DropoutConfig(self.dropout).init(),
            head=LinearConfig(self.hidden, self.classes).init(device),
            loss=CrossEntropyLossConfig(smoothing=0.1).init(device),
        )


class Model(Module):
    embedding: Embedding
    lstm: Lstm
    dropout: Dropout
    head: Linear
    loss: CrossEntropyLoss

    def forward(self, tokens: Tensor) -> Tensor:
        outputs, state = self.lstm(self.embedding(tokens))
        batch, length, width = outputs.dims()
        last = outputs[:, length - 1, :].reshape([batch, width])
        return self.head(self.dropout(last + state.hidden * 0.0))

    def step(self, batch: Batch) -> ClassificationOutput:
        scores = self(batch.tokens)
        return ClassificationOutput(self.loss(scores, batch.labels), scores, batch.labels)

    def train_step(self, batch: Batch) -> TrainOutput[ClassificationOutput]:
        item = self.step(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: Batch) -> ClassificationOutput:
        return self.step(batch)


class FocalLoss(Module):
    gamma: float = 2.0

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        shares = logits.log_softmax(1).gather(1, targets.unsqueeze_dim(1)).squeeze_dim(1)
        weight = (1.0 - shares.exp()) ** self.gamma
        return -(weight * shares).mean()


def made_up(count: int, seed: int) -> Dataset[Item]:
    random = np.random.default_rng(seed)
    rows = [[int(random.integers(1, 10)) for _ in range(6)] for _ in range(count)]
    return InMemDataset([Item(row, int(sum(row) > 30)) for row in rows])


def shifted(item: Item) -> Item:
    return Item([*item.tokens[1:], item.tokens[0]], item.label)


def main(folder: Path) -> None:
    device = burn.default_device().autodiff()
    dataset = ShuffledDataset.with_seed(MapperDataset(made_up(64, 1), shifted), 3)
    train, valid = random_split(dataset, [0.75, 0.25], seed=1)
    print(train[0].label, len(valid))
    builder = DataLoaderBuilder(SequenceBatcher(8)).batch_size(16).shuffle(1)
    loader = builder.build(train)
    first = next(iter(loader))
    print(first.tokens.shape, [batch.labels.shape for batch in loader])
    learner = (
        LearnerBuilder(folder)
        .metrics([AccuracyMetric(), LossMetric()])
        .renderer(NoRenderer())
        .num_epochs(2)
        .with_file_checkpointer(CompactRecorder())
        .build(ModelConfig(10, 2).init(device), AdamWConfig().init(), CosineAnnealingLrSchedulerConfig(1e-2, 10))
    )
    model = learner.fit(loader, builder.build(valid))
    model.save_file(folder / "model", CompactRecorder())
    print(FocalLoss()(model(first.tokens.to(device)), first.labels.to(device)).item())


if __name__ == "__main__":
    import tempfile

    main(Path(tempfile.mkdtemp()))
