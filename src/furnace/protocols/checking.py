"""Fields of a JSON object in their kinds: what is wrong is gathered, and told all at once."""

from __future__ import annotations

from typing import Any

from furnace.errors import BadRequest


class Checker:
    """Takes fields out of objects. A field that is missing or of another kind is noted, and something empty given."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def text(self, value: dict[str, Any], field: str, where: str) -> str:
        """A string that must be there."""
        found = value.get(field)
        if isinstance(found, str):
            return found
        self.faults.append(f"{where}.{field} is {'missing' if found is None else 'not a string'}")
        return ""

    def sizes(self, value: dict[str, Any], where: str) -> list[int]:
        """The shape: a list of whole numbers from 0."""
        found = value.get("shape")
        if isinstance(found, list) and all(type(each) is int and each >= 0 for each in found):
            return found
        self.faults.append(f"{where}.shape is {'missing' if found is None else 'not a list of whole numbers from 0'}")
        return []

    def parameters(self, value: dict[str, Any], where: str) -> dict[str, Any]:
        """Parameters by name; none when they are left out."""
        found = value.get("parameters")
        if found is None:
            return {}
        if isinstance(found, dict):
            return found
        self.faults.append(f"parameters of {where} is not an object")
        return {}

    def objects(self, value: dict[str, Any], field: str) -> list[dict[str, Any]]:
        """A list of objects that must be there."""
        found = value.get(field)
        if not isinstance(found, list):
            self.faults.append(f"{field} is {'missing' if found is None else 'not a list'}")
            return []
        wrong = [place for place, each in enumerate(found) if not isinstance(each, dict)]
        self.faults += [f"{field}[{place}] is not an object" for place in wrong]
        return [each for each in found if isinstance(each, dict)]

    def finish(self) -> None:
        """Raise when anything is wrong."""
        if self.faults:
            text = "; ".join(self.faults[:20])
            raise BadRequest(f"the request does not follow the protocol: {text}", {"faults": self.faults[:100]})
