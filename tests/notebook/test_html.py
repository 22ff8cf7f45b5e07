"""What notebooks show of tensors, modules and trainings: well-formed, escaped, small, without colours of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import nn
from burn.backend import NdArray
from burn.module import Module
from burn.optim import AdamConfig
from burn.train import FileMetricLogger, LearnerBuilder, LearnerSummary, MetricEntry, NoRenderer
from examples.guide.model import ModelConfig

DEVICE = NdArray()


class Reader(HTMLParser):
    """Checks that tags are closed in their order, and collects the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Net(Module):
    """Modules in a list, one that is shown by a name with signs of HTML, and a field of its own."""

    layers: list[Any]
    head: nn.Linear
    label: str = "a<b>&c"

    def custom_content(self, content: Any) -> Any:
        for name in ("layers", "head", "label"):
            content.add(name, getattr(self, name))
        return content.set_top_level_type("Net<script>")


def net() -> Net:
    return Net([ModelConfig(10, 8).init(DEVICE), nn.Relu()], nn.LinearConfig(3, 4).init(DEVICE))


def learner_of(folder: Path) -> Any:
    builder = LearnerBuilder(folder).renderer(NoRenderer()).num_epochs(3)
    return builder.build(ModelConfig(10, 8).init(DEVICE.autodiff()), AdamConfig().init(), 1e-3)


def summary_of(folder: Path) -> LearnerSummary:
    logger = FileMetricLogger(folder / "valid")
    for epoch, loss in enumerate((0.5, 0.25), start=1):
        logger.start_epoch(epoch)
        logger.log(MetricEntry("Loss", "", f"{loss},32"))
        logger.end_epoch(epoch)
    return LearnerSummary(folder)


def test_a_tensor_shows_what_it_is_and_its_values() -> None:
    page = Reader(burn.tensor([[1.0, 2.0], [3.0, 4.5]], device=DEVICE)._repr_html_())
    assert page.text == "Tensor shape [2, 2] · f32 · NdArray()[[1.0, 2.0],\n [3.0, 4.5]]"


@pytest.mark.parametrize("shape", [(), (0,), (1,), (200, 300), (5, 6, 7, 8)])
def test_a_tensor_of_any_size_is_a_small_page(shape: tuple[int, ...]) -> None:
    for values in (np.zeros(shape, np.float32), np.zeros(shape, bool), np.zeros(shape, np.int64)):
        page = burn.tensor(values, device=DEVICE)._repr_html_()
        Reader(page)
        assert len(page) < 20_000


def test_a_module_is_a_tree_with_its_parameters_counted() -> None:
    module = net()
    page = Reader(module._repr_html_())
    assert page.tags.count("details") == 2, "the model in the list and the whole; leaves are lines"
    assert f"{module.num_params():,} parameters" in page.text
    assert f"{module.layers[0].num_params():,} parameters" in page.text
    assert "layers[0]: Model" in page.text
    assert "head: Linear(d_input=3, d_output=4, bias=true) · 16 parameters" in page.text


def test_names_and_values_are_escaped() -> None:
    page = net()._repr_html_()
    assert "<script>" not in page
    assert "Net&lt;script&gt;" in page
    assert "a&lt;b&gt;&amp;c" in page
    assert "label=a<b>&c" in Reader(page).text


def test_a_summary_is_a_table(tmp_path: Path) -> None:
    page = Reader(summary_of(tmp_path)._repr_html_())
    assert page.tags.count("tr") == 2
    assert "ValidLoss0.25020.5001" in page.text


def test_a_learner_shows_its_settings_and_its_model(tmp_path: Path) -> None:
    page = Reader(learner_of(tmp_path)._repr_html_())
    for wanted in ("epochs3", "Adam", "0.001", str(tmp_path), "linear2: Linear", "9,538 parameters"):
        assert wanted in page.text


def test_no_page_names_a_colour_so_that_dark_ones_stay_readable(tmp_path: Path) -> None:
    tensor = burn.tensor([1.0], device=DEVICE)
    for each in (tensor, net(), summary_of(tmp_path), learner_of(tmp_path)):
        page = each._repr_html_()
        assert set(re.findall(r"(?<![-\w])color:([^;']+)", page)) <= {"inherit"}
        assert set(re.findall(r"background:([^;']+)", page)) <= {"none"}
        assert "rgba(128,128,128" in page or "rgb" not in page


def test_nothing_heavy_is_loaded_for_it() -> None:
    code = "import sys, burn; from burn.backend import NdArray; burn.tensor([1.0], device=NdArray())._repr_html_(); "
    code += "print([name for name in ('IPython', 'rich', 'matplotlib', 'torch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
