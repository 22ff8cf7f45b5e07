"""What type checkers know of configs and enumerations; they refuse the lines that end in `# refused`."""

from __future__ import annotations

from typing import ClassVar, reveal_type

from burn.config import Config, Enumeration, Pair, field, variant


class Initializer(Enumeration):
    Zeros = variant()
    Uniform = variant(low=float, high=float)
    Constant: ClassVar[type[Constant]]

    def doubled(self) -> Initializer:
        return self


class Constant(Initializer):
    value: float
    exact: bool = True


class LinearConfig(Config):
    d_input: int
    d_output: int
    bias: bool = True
    initializer: Initializer = Initializer.Zeros
    kernel_size: Pair[int] = (3, 3)
    names: list[str] = []  # noqa: RUF012


class TrainingConfig(Config):
    num_epochs: int = field(default=10, kw_only=True)
    folders: list[str] = field(default_factory=lambda: [""], kw_only=True)
    model: LinearConfig
    seed: int = 42


config = LinearConfig(3, 4)
reveal_type(config)  # LinearConfig
reveal_type(config.d_input)  # int
reveal_type(config.initializer)  # Initializer
reveal_type(config.with_bias(False))  # LinearConfig
reveal_type(config.with_bias(False).with_d_input(5))  # LinearConfig
reveal_type(config.replace(bias=False))  # LinearConfig
reveal_type(LinearConfig.load("config.json"))  # LinearConfig
reveal_type(LinearConfig.from_json("{}"))  # LinearConfig
reveal_type(LinearConfig.load_binary(b"{}"))  # LinearConfig
reveal_type(config.to_json())  # str

LinearConfig(3, 4, False, Initializer.Constant(0.5), [1, 2])
LinearConfig(3, d_output=4, kernel_size=(1, 2))
TrainingConfig(config)
TrainingConfig(config, num_epochs=3, seed=1)

LinearConfig(3)  # refused
LinearConfig("3", 4)  # refused
LinearConfig(3, 4, biass=False)  # refused
LinearConfig(3, 4, initializer=Initializer.Constant)  # refused
LinearConfig(3, 4, kernel_size=3)  # refused
TrainingConfig()  # refused
config.bias = False  # refused
width: int = config.d_imput  # refused

reveal_type(Initializer.Zeros)  # Initializer
reveal_type(Initializer.Constant(0.5))  # Constant
reveal_type(Initializer.Constant(0.5).value)  # float
reveal_type(Initializer.Zeros.doubled())  # Initializer
reveal_type(Initializer.from_json('"Zeros"'))  # Initializer
Initializer.Uniform(0.0, 1.0)
Initializer.Constant("a")  # refused
Initializer.Zeroes  # refused
Initializer.Zeros.value  # refused


def describe(initializer: Initializer) -> str:
    match initializer:
        case Initializer.Zeros:
            return "zeros"
        case Initializer.Constant(value, exact):
            reveal_type(value)  # float
            reveal_type(exact)  # bool
            return f"{value}"
        case Initializer.Uniform():
            return "uniform"
        case _:
            return "other"
