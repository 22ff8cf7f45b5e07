"""Plans in several threads: matrix products and kernels give the same results whoever runs them."""

from __future__ import annotations

import threading

import numpy as np

import burn
from burn import Cpu
from burn.tensor import activation


def test_matrix_products_run_in_threads_that_are_not_admitted_to_the_team():
    device = Cpu()
    generator = np.random.default_rng(0)
    left = [generator.normal(size=(64, 96)).astype(np.float32) for _ in range(4)]
    right = generator.normal(size=(96, 80)).astype(np.float32)
    failures: list[int] = []

    def work(index):
        for _ in range(30):
            x, y = burn.tensor(left[index], device=device), burn.tensor(right, device=device)
            got = activation.relu(x.matmul(y) * 0.5).numpy()
            if not np.allclose(got, np.maximum(left[index] @ right * 0.5, 0), rtol=1e-4, atol=1e-4):
                failures.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_number_of_threads_does_not_change_results():
    device = Cpu()
    values = np.random.default_rng(1).normal(size=(300, 200)).astype(np.float32)
    before = burn.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3, 1):
            burn.set_num_threads(count)
            x = burn.tensor(values, device=device)
            results.append((activation.softmax(x, 1).sum_dim(0) + x.matmul(x.transpose()).sum_dim(1).sum()).numpy())
    finally:
        burn.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5)


def test_a_capture_follows_the_number_of_threads():
    device = Cpu()
    captured = burn.compile(lambda x: x.matmul(x.transpose()).exp().sum_dim(1))
    values = (np.random.default_rng(2).normal(size=(70, 50)) * 0.1).astype(np.float32)
    expected = np.exp(values @ values.T).sum(1, keepdims=True)
    before = burn.get_num_threads()
    try:
        for count in (2, 2, 2, 1, 3, 2):
            burn.set_num_threads(count)
            got = captured(burn.tensor(values, device=device)).numpy()
            np.testing.assert_allclose(got, expected, rtol=1e-4)
    finally:
        burn.set_num_threads(before)
