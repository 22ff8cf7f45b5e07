"""Mistakes of a training script, each of which both checkers find: every line that ends in `# refused`."""

from __future__ import annotations

import burn
from burn import Config, Module, Tensor, nn
from burn.backend import NdArray
from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset import InMemDataset
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.nn.loss import CrossEntropyLoss, MseLoss
from burn.optim import AdamConfig, SgdConfig
from burn.train import LearnerBuilder
from burn.train.metric import LossMetric
from tests.typing.cases.model import Batch, Model, ModelConfig
from tests.typing.cases.training import ImageBatcher

device = NdArray().autodiff()
config = ModelConfig(2)
model = config.init(device)
optim = AdamConfig().init()
x = Tensor.ones([2, 4, 4], device)
targets = burn.tensor([0, 1], device=device)
criterion = CrossEntropyLoss()
scores = model(x)
loss = criterion(scores, targets)


class Settings(Config):
    hidden: int = 3
    rate: float = 1e-3


class Pair(Module):
    inner: nn.Linear

    def forward(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        return x, self.inner(x)


@burn.compile
def step(model: Model, x: Tensor, targets: Tensor, lr: float) -> tuple[Model, Tensor]:
    loss = criterion(model(x), targets)
    return optim.step(lr, model, loss.backward()), loss


# Calls of layers and models
model([[1.0, 2.0]])  # refused
model(x, x)  # refused
model()  # refused
pair = Pair(nn.Linear(2, 3))
pair(x, scal=2.0)  # refused
pair(x) * 2.0 + x  # refused
total: Tensor = pair(x)  # refused
pair(x).sum()  # refused
model.frist(x)  # refused
model.head.weigth  # refused
nn.Linear(3)  # refused
nn.Linear(3, "4")  # refused
nn.LinearConfig(3, 4, biass=False)  # refused
nn.Linear(3, 4, biass=False)  # refused
nn.Dropout(prob="half")  # refused
nn.conv.Conv2d(1, 8)  # refused
nn.LinearConfig(3, 2)(x)  # refused
Model(first=nn.Linear(3, 4))  # refused
Pair(inner=nn.Dropout(0.5))  # refused
burn.nn.Linaer(3, 4)  # refused

# Configs
ModelConfig()  # refused
ModelConfig(2, widht=3)  # refused
ModelConfig("2")  # refused
rate: float = config.droput  # refused
config.width + "1"  # refused
config.with_width(3).init()  # refused
Settings(rate=None)  # refused

# Losses
criterion(scores, None)  # refused
criterion(scores)  # refused
CrossEntropyLoss(smothing=0.1)  # refused
MseLoss()(scores, targets, "mean")  # refused
text: str = loss.item()  # refused
loss.item().lower()  # refused
loss.backwards()  # refused

# Optimizers and schedulers
optim.step(model, 1e-3, loss.backward())  # refused
optim.step("fast", model, loss.backward())  # refused
optim.step(1e-3, model, loss)  # refused
optim.step(1e-3, model)  # refused
AdamConfig(lr=1e-3)  # refused
SgdConfig(momentum=0.9)  # refused
AdamConfig().init(model)  # refused
linear: nn.Linear = optim.step(1e-3, model, loss.backward())  # refused
CosineAnnealingLrSchedulerConfig("1e-3", 10)  # refused

# Captured functions
step(model, x, targets)  # refused
step(model, x, targets, "1e-3")  # refused
step(model, x, targets, lr=1e-3, momentum=0.9)  # refused
only: Tensor = step(model, x, targets, 1e-3)  # refused
step(x, x, targets, 1e-3)  # refused

# Tensors
x.no_such_method()  # refused
x.sum(dim="rows")  # refused
x.reshape("2")  # refused
x + "one"  # refused
x @ None  # refused
x["first"]  # refused
x.to("cuda")  # refused
x.numpy().no_such_attribute  # refused
x.shape = (3, 2)  # refused
Tensor.zeros([2, 3], "cpu")  # refused
Tensor.random([2], "normal", device)  # refused
count: int = (scores.argmax(dim=1) == targets).sum()  # refused
burn.tensor([1.0], devise=device)  # refused
burn.tensr([1.0])  # refused

# Data and the learner
DataLoaderBuilder(ImageBatcher()).batch_size("8")  # refused
DataLoaderBuilder(ImageBatcher()).build(InMemDataset([1.0, 2.0]))  # refused
for batch in DataLoaderBuilder(ImageBatcher()).build(InMemDataset([([[1.0]], 1)])):
    batch.image  # refused
    model.train_step(batch.images)  # refused
builder = LearnerBuilder("artifacts")
builder.metrics([LossMetric])  # refused
builder.num_epoch(3)  # refused
builder.build(nn.Linear(3, 4), optim, 1e-3)  # refused
builder.build(model, AdamConfig(), 1e-3)  # refused
builder.build(model, optim, "1e-3")  # refused
other: nn.Linear = builder.build(model, optim, 1e-3).fit([Batch(x, targets)])  # refused
