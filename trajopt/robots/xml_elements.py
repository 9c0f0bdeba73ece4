"""XML elements of robot files, with the line of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from trajopt.errors import InvalidArgumentError, shown

ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor",
)  # fmt: skip
"""Kinds of actuators in an MJCF."""

_OWNERS = {
    "link": "link",
    "body": "link",
    "joint": "joint",
    "freejoint": "joint",
    "geom": "geom",
    "site": "site",
} | dict.fromkeys(ACTUATORS, "actuator")


@dataclass(frozen=True, eq=False)
class XmlElement:
    """An element of a robot file; prefixes such as xacro: stay in names.

    Attributes:
        tag: Its name.
        attributes: Texts by name.
        line: Line at which it begins.
        path: The file.
        parent: The element around it; None for the outermost.
        children: Elements inside.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    path: Path
    parent: XmlElement | None
    children: list[XmlElement] = field(default_factory=list)

    def all(self, tag: str) -> list[XmlElement]:
        """Children with a name."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlElement | None:
        """The first child with a name; None if there is none."""
        return next(iter(self.all(tag)), None)

    def section(self, tag: str) -> dict[str, str]:
        """Attributes of all children with a name; the last one with an attribute sets it."""
        return {name: text for child in self.all(tag) for name, text in child.attributes.items()}

    def every(self) -> Iterator[XmlElement]:
        """This element and all inside it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.every()

    @property
    def owner(self) -> str:
        """The link, joint or geom that it belongs to, such as "link 'foot'", for messages."""
        name = self.attributes.get("name")
        if self.tag == "joint" and name is None and self.parent is not None:  # of an MJCF: that of its body
            name = self.parent.attributes.get("name")
        if self.tag in _OWNERS and name is not None:
            return f"{_OWNERS[self.tag]} {name!r}"
        return self.tag if self.parent is None else self.parent.owner

    def refusal(self, expected: str, got: str) -> InvalidArgumentError:
        """Error that names the owner, what was expected, what the file has, and where."""
        return InvalidArgumentError(
            f"{self.owner}: expected {expected}, got {got}; correct <{self.tag}> in line {self.line} of "
            f"{str(self.path)!r}"
        )

    def numbers(self, name: str) -> list[float]:
        """Numbers in an attribute, which may be infinite or NaN.

        Raises:
            InvalidArgumentError: A word is not a number.
        """
        text = self.attributes.get(name, "")
        try:
            return [float(word.replace("_", "?")) for word in text.split()]
        except ValueError:
            hint = " (is this a xacro file that was not expanded?)" if "$" in text else ""
            raise self.refusal(f"numbers as {name}", shown(text) + hint) from None


def read_xml(path: Path) -> XmlElement | None:
    """The outermost XML element of a file; None if only Pinocchio's parser can read it."""
    try:
        return parse_xml(path)
    except (expat.ExpatError, LookupError, ValueError):  # the latter two: encodings
        return None


def parse_xml(path: Path) -> XmlElement:
    """The outermost XML element of a file; raises ExpatError, or LookupError or ValueError for encodings."""
    parser = expat.ParserCreate()
    roots: list[XmlElement] = []
    open_elements: list[XmlElement] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        parent = open_elements[-1] if open_elements else None
        element = XmlElement(tag, attributes, parser.CurrentLineNumber, path, parent)
        (roots if parent is None else parent.children).append(element)
        open_elements.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.Parse(path.read_bytes(), True)
    return roots[0]
