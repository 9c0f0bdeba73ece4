"""Attributes of elements of MJCF files, with those of their default classes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from trajopt.robots.xml_elements import XmlElement

Attributes = Mapping[str, XmlElement]
"""Elements that set each attribute of an element."""


def with_classes(root: XmlElement, tags: Collection[str]) -> Iterator[tuple[XmlElement, Attributes]]:
    """Elements with one of some tags inside <worldbody> or <actuator>, and who sets each of their attributes.

    Elements of different tags share the attributes of a class, as kinds of actuators do.
    """
    classes: dict[str, Attributes] = {}
    for entry in root.all("default"):
        _read_class(entry, tags, classes.get("main", {}), "main", classes)
    for part in ("worldbody", "actuator"):
        for element in root.all(part):
            yield from _inside(element, tags, "main", classes)


def texts(attributes: Attributes) -> dict[str, str]:
    """Texts of attributes by name."""
    return {name: element.attributes[name] for name, element in attributes.items()}


def _read_class(
    entry: XmlElement, tags: Collection[str], inherited: Attributes, name: str, classes: dict[str, Attributes]
) -> None:
    own = {key: child for child in entry.children if child.tag in tags for key in child.attributes}
    classes[name] = classes[entry.attributes.get("class", name)] = attributes = {**inherited, **own}
    for child in entry.all("default"):
        _read_class(child, tags, attributes, child.attributes.get("class", ""), classes)


def _inside(
    element: XmlElement, tags: Collection[str], name: str, classes: Mapping[str, Attributes]
) -> Iterator[tuple[XmlElement, Attributes]]:
    """Those of an element before those of the elements inside it, as bodies of a model come before their children."""
    name = element.attributes.get("childclass", name)
    for child in element.children:
        if child.tag in tags:
            default = classes.get(child.attributes.get("class", name), {})
            yield child, {**default, **dict.fromkeys(child.attributes, child)}
    for child in element.children:
        if child.tag not in tags:
            yield from _inside(child, tags, name, classes)
