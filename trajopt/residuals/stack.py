"""Base of stacks of named residuals, for costs and constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from trajopt.errors import DuplicateNameError, InvalidArgumentError, unknown_name
from trajopt.instant import Instant
from trajopt.model.parameters import Parameter
from trajopt.objects.immutable import Immutable
from trajopt.residuals.base import ResidualModelAbstract, check_solution
from trajopt.states.base import StateAbstract


class Named(Protocol):
    """Item of a stack: a named residual and its use."""

    @property
    def name(self) -> str:
        """Name of the item in the stack."""

    @property
    def residual(self) -> ResidualModelAbstract:
        """The residual."""

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters by their names in the stack, for a model with `nu` controls."""

    def check_size(self, nu: int) -> None:
        """Raises InvalidArgumentError if the parts of the item do not fit each other for `nu` controls."""


Item = TypeVar("Item", bound=Named)


class ResidualStackAbstract(Immutable, ABC, Generic[Item]):
    """Named residuals of one state. A model freezes its stack; several models may share one.

    Args:
        state: The state's manifold.
    """

    kind: ClassVar[str]
    """Word for an item in messages."""
    not_content = ("_user",)  # see `trajopt.model.content`

    def __init__(self, state: StateAbstract) -> None:
        if not isinstance(state, StateAbstract):
            raise InvalidArgumentError(f"state: expected StateVector(nx) or StateMultibody(robot), got {state!r}")
        self.state = state
        self._items: dict[str, Item] = {}
        self._user: str | None = None

    @abstractmethod
    def arguments_of(self, item: Item) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of `add` that rebuild this item."""

    def check_new(self, name: str, residual: ResidualModelAbstract) -> None:
        """Raises an error unless a residual can be added under this name."""
        if self._user is not None:
            raise InvalidArgumentError(
                f"add: expected a stack that no model uses, but {self._user} uses it; add all {self.kind}s before that"
            )
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'goal', got {name!r}")
        if name in self._items:
            taken = ", ".join(self._items)
            raise DuplicateNameError(
                f"name: {self.kind} {name!r} is in the stack already; choose a name other than {taken}"
            )
        if not isinstance(residual, ResidualModelAbstract):
            raise InvalidArgumentError(
                f"residual: expected a residual such as ResidualModelState(state), got {residual!r}; "
                "turn a function into one with ResidualModelSymbolic(state, function)"
            )
        if residual.state != self.state:
            raise InvalidArgumentError(
                f"residual: expected a residual of {self.state!r}, got one of {residual.state!r}; use one state for "
                "both"
            )

    def take(self, item: Item, own: Iterable[str], *parts: Iterable[str]) -> None:
        """Adds an item.

        Args:
            item: The item.
            own: Names of the item's own parameters.
            parts: Names of the parameters of each of its parts.

        Raises:
            DuplicateNameError: Two of its parameters have the same name.
            InvalidArgumentError: Its parts do not fit each other.
        """
        own = tuple(own)
        names = [*own, *(name for part in parts for name in part)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DuplicateNameError(
                f"{self.kind} {item.name!r}: two of its parameters have the name {twice[0]!r} (its own are "
                f"{', '.join(own)}, others belong to its residual or activation); rename the other one"
            )
        if item.residual.nr is not None:
            item.check_size(0)
        self._items[item.name] = item

    def freeze(self, user: str, nu: int) -> None:
        """Freezes the stack: a model with `nu` controls uses it, so nothing can be added afterwards."""
        for item in self._items.values():
            item.check_size(nu)
        self._user = self._user or user

    @property
    def items(self) -> tuple[Item, ...]:
        """The items, in the order in which they were added."""
        return tuple(self._items.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the items, in the order in which they were added."""
        return tuple(self._items)

    def attribute_hint(self, name: str) -> str:
        return f"write stack[{name!r}]" if name in vars(self).get("_items", ()) else super().attribute_hint(name)

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            raise unknown_name(self.kind, name, self._items)
        return self._items[name]

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters of all items, for a model with `nu` controls."""
        return {name: p for item in self._items.values() for name, p in item.parameters(nu).items()}

    def controlled(self) -> list[str]:
        """Names of the items that depend on a control, or on forces or accelerations that the dynamics solve for."""
        return [i.name for i in self._items.values() if i.residual.uses_control or i.residual.uses_solution]

    def check_solution(self, instant: Instant) -> None:
        """Raises, with the item's name, if a residual needs a force or acceleration that a model does not provide."""
        for item in self._items.values():
            check_solution(f"{self.kind} {item.name!r}", item.residual, instant)

    def check_terminal(self) -> None:
        """Raises InvalidArgumentError if a residual needs a control or a force; the end of a horizon has neither."""
        if self.controlled():
            raise InvalidArgumentError(
                f"terminal: {self.kind}s {', '.join(self.controlled())} depend on a control or a force, which the end "
                f"of a horizon does not have; pass a {type(self).__name__} without them"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.state, [self.arguments_of(i) for i in self._items.values()], self._user))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._items.values()))
        return f"{type(self).__name__}({self.state!r}; {shown or f'no {self.kind}s'})"


def _rebuild(
    cls: Any, state: StateAbstract, added: list[tuple[tuple[Any, ...], dict[str, Any]]], user: str | None
) -> Any:
    stack = cls(state)
    for args, kwargs in added:
        stack.add(*args, **kwargs)
    stack._user = user
    return stack
