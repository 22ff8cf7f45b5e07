"""Modules as notebooks show them: a tree that opens and closes, with the parameters counted at every branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from burn.html import box, fold, line
from burn.module.display import DisplaySettings, content_of, spreads, text_of
from burn.module.walk import is_module


def module_html(module: Any) -> str:
    """A module as HTML."""
    settings = module.custom_settings() or DisplaySettings()
    return box("", "", _branch("", module, settings, opened=True))


def _branch(name: str, module: Any, settings: DisplaySettings, opened: bool = False) -> str:
    settings = module.custom_settings() or settings
    content = content_of(module, settings)
    title = content.top_level_type or type(module).__name__
    count = module.num_params() if settings.show_num_parameters else 0
    facts = [f"{count:,} parameter{'' if count == 1 else 's'}"] if count else []
    if content.single is not None:
        return line(name, f"{title} {text_of(content.single, settings, 0)}")
    nested = [(key, value) for key, value in content.attributes if spreads(value)]
    plain = [(key, value) for key, value in content.attributes if not spreads(value)]
    said = [f"{key}={text_of(value, settings, 0)}" for key, value in plain]
    if not nested:
        return line(name, " · ".join([f"{title}({', '.join(said)})", *facts]))
    parts = [part for key, value in nested for part in _parts(key, value, settings)]
    return fold(name, title, " · ".join([*facts, *said]), parts, opened)


def _parts(name: str, value: Any, settings: DisplaySettings) -> Iterator[str]:
    if is_module(value):
        yield _branch(name, value, settings)
    elif spreads(value):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from _parts(f"{name}[{key!r}]", each, settings)
    else:
        yield line(name, text_of(value, settings, 0))
