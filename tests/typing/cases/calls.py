"""Calls of modules and of captured functions are typed by what is called."""

from typing import reveal_type

import burn
from burn import Module, Tensor, nn
from burn.backend import NdArray


class Net(Module):
    inner: nn.Linear

    def forward(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, float]:
        return self.inner(x), scale


device = NdArray().autodiff()
net = Net(nn.LinearConfig(2, 3).init(device))
reveal_type(net)  # Net
x = Tensor.ones([2, 2], device)
reveal_type(net(x)[1])  # float
reveal_type(burn.compile(net)(x, scale=3.0)[1])  # float
net(x, scle=3.0)  # refused
burn.compile(net)(x, scle=3.0)  # refused


@burn.compile(check=3)
def step(x: Tensor, rate: float) -> Tensor:
    return x * rate


reveal_type(step(x, 3.0))  # Tensor[Device]
step(x)  # refused
step(x, "3")  # refused
step(x, rat=3)  # refused


class Trainer:
    @burn.compile
    def step(self, x: Tensor, rate: float) -> Tensor:
        return x * rate


reveal_type(Trainer().step(x, 3.0))  # Tensor[Device]
Trainer().step(x)  # refused
many: list[Module] = [net]
reveal_type(many[0](x))  # Any
net.iner  # refused
burn.tensr  # refused

# Layers whose forward is chosen when they are made
reveal_type(nn.BiLstm(3, 4)(x)[1])  # LstmState
reveal_type(nn.BiGru(3, 4)(x))  # tuple[Tensor[Device], Tensor[Device]]
reveal_type(nn.ActivationConfig.Gelu.init(device)(x))  # Tensor[Device]
reveal_type(nn.Sequential(nn.Linear(2, 3), nn.Relu())(x))  # Tensor[Device]
nn.BiRnn(3, 4)(3)  # refused

# Functions of the package
left, right = burn.zeros(2, 3), burn.ones([3, 2])
reveal_type(left @ right)  # Tensor[Device]
reveal_type(burn.zeros(2, device=device).sum())  # Tensor[Autodiff[NdArray]]
reveal_type(burn.arange(3).T.item())  # float
