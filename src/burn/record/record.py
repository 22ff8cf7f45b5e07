"""A record in memory: a tree of items, and what the file it came from says about itself.

    record = NamedMpkFileRecorder().load("model")
    record.metadata.version, record.item["linear"]["weight"]

`Bin` files hold no names and no types; their item is decoded when a schema is given: `record.resolve(like)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from burn.errors import raise_faults
from burn.record.errors import RecordError
from burn.record.items import Item
from burn.record.matching import Matched, match
from burn.record.metadata import Metadata, origin

if TYPE_CHECKING:
    from burn.device import Device

Decode = Callable[[Item], Matched]


class Record:
    """What a module or an optimizer keeps, as plain data: `item` is a tree of dicts, lists and tensors.

    `metadata` is what the file it came from says about itself; `decode` reads the item of a file without names, once
    there is a schema.

    >>> from burn.record import DefaultRecorder, Record
    >>> Record({"weight": burn.tensor([1.0]).to_data()}).item
    {'weight': TensorData([1.0], shape=[1], dtype=f32)}
    >>> nn.Linear(2, 3).save_file("model")
    >>> record = DefaultRecorder().load("model")
    >>> record.metadata.float, sorted(record.item)
    ('f32', ['bias', 'weight'])
    """

    def __init__(self, item: Item = None, metadata: Metadata | None = None, decode: Decode | None = None) -> None:
        self._item = item
        self._decode = decode
        self.metadata = metadata
        self.device: Device | None = None
        self.extra: list[str] = []
        self.missing: list[str] = []

    @property
    def item(self) -> Item:
        """The tree of items."""
        if self._decode is not None:
            raise RecordError(
                "record: a Bin file does not describe itself; load it into a module, or say what it holds "
                "with record.resolve(like)"
            )
        return self._item

    @property
    def is_described(self) -> bool:
        """Whether `item` can be read without a schema."""
        return self._decode is None

    def match(self, like: Item) -> Matched:
        """The item in the kinds of a schema (`like`), and lists of what is missing, extra or wrong, without raising."""
        found = match(self._item, like) if self._decode is None else self._decode(like)
        self.extra, self.missing = found.extra, found.missing
        return found

    def resolve(self, like: Item, *, partial: bool = False) -> Item:
        """The item in the kinds of a schema (`like`): parameters, optionals and variants where it has them.

        One error lists everything that is missing or of another kind. With `partial`, what is missing is
        taken from the schema and listed in `missing`. What the schema does not have is listed in `extra`.
        """
        found = self.match(like)
        faults = list(found.faults)
        if not partial:
            faults += [f"{path}: missing in the record" for path in found.missing]
        if faults and self.metadata is not None:
            faults[-1] += f" ({origin(self.metadata)})"
        raise_faults("load_record", faults, RecordError)
        if self._decode is not None:
            self._item, self._decode = found.item, None
        return found.item

    def item_for(self, like: Item) -> Item:
        """The tree of items as the file has it; a `Bin` file is decoded by the schema (`like`)."""
        return self._item if self._decode is None else self.resolve(like)

    def __repr__(self) -> str:
        if self._decode is not None:
            return f"Record(not decoded yet, {origin(self.metadata)})"
        names = ", ".join(self._item) if isinstance(self._item, dict) else type(self._item).__name__
        return f"Record({names})"
