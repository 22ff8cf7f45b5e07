"""Sorting under Burn's names."""

from __future__ import annotations

from burn.ops import selection
from burn.ops import sort as rows


class SortMethods:
    """Operations that put elements in order."""

    __slots__ = ()

    sort = rows.sort
    sort_descending = rows.sort_descending
    sort_with_indices = rows.sort_with_indices
    sort_descending_with_indices = rows.sort_descending_with_indices
    argsort = rows.argsort
    argsort_descending = rows.argsort_descending
    topk = rows.topk
    topk_with_indices = rows.topk_with_indices
    argtopk = rows.argtopk
    extremes_with_indices = selection.extremes_with_indices
    median_with_indices = rows.median_with_indices
