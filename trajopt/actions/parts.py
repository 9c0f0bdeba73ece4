"""Public view of the parts that an action model consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack, CostTerm

if TYPE_CHECKING:
    from trajopt.actions.differential.base import DifferentialActionModelAbstract


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """Parts of an action model; None where it has no such part, as black boxes and formulas of users.

    Attributes:
        differential: The continuous-time model that it integrates.
        costs: Its costs.
        contacts: Its contacts.
        impulses: Its impulses.
        actuation: Its motors.
    """

    differential: DifferentialActionModelAbstract | None = None
    costs: CostStack | None = None
    contacts: ContactStack | None = None
    impulses: ImpulseStack | None = None
    actuation: ActuationModelAbstract | None = None

    @property
    def terms(self) -> tuple[CostTerm, ...]:
        """The cost terms."""
        return () if self.costs is None else self.costs.terms
