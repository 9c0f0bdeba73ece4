"""Public view of the parts of an action model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.contacts.stack import ContactStack
from trajopt.contacts.supports import SupportStack
from trajopt.costs.cost_stack import CostStack, CostTerm

if TYPE_CHECKING:
    from trajopt.actions.differential.base import DifferentialActionModelAbstract


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """Parts of an action model. A part is None if the model has none, as for black boxes and user formulas.

    Attributes:
        differential: Continuous-time model that an integrator steps.
        costs: Costs.
        contacts: Contacts.
        supports: Places where the contact forces of a reduced model act.
        impulses: Impulses.
        actuation: Motors.
    """

    differential: DifferentialActionModelAbstract | None = None
    costs: CostStack | None = None
    contacts: ContactStack | None = None
    supports: SupportStack | None = None
    impulses: ImpulseStack | None = None
    actuation: ActuationModelAbstract | None = None

    @property
    def terms(self) -> tuple[CostTerm, ...]:
        """The cost terms."""
        return () if self.costs is None else self.costs.terms
