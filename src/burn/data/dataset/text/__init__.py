"""Texts: folders of files."""

from __future__ import annotations

from burn.data.dataset.text.text_folder import TextDatasetItem, TextFolderDataset

__all__ = ["TextDatasetItem", "TextFolderDataset"]
