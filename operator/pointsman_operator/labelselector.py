"""Which objects a label selector means, as Kubernetes reads one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Operator(StrEnum):
    """What a requirement demands of one label."""

    IN = "In"
    """It is there, with one of the values."""
    NOT_IN = "NotIn"
    """It is not there, or has none of the values."""
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"

    @property
    def takes_values(self) -> bool:
        """Whether values belong to it: at least one does, or none may."""
        return self in (Operator.IN, Operator.NOT_IN)


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one label has to be like."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def is_met(self, labels: Mapping[str, str]) -> bool:
        """Say whether an object with these labels meets it."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that have to be met together; without any it means every object."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether it means an object with these labels."""
        return all(requirement.is_met(labels) for requirement in self.requirements)
