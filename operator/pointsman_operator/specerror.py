"""Which field of a resource has to change, and how that is said."""

from enum import StrEnum

from pointsman_operator.fields import FieldPath, steps_of


class SpecReason(StrEnum):
    """Why a resource is not accepted for what it says itself."""

    INVALID_URL = "InvalidUrl"
    INVALID_SPEC = "InvalidSpec"


class SpecError(ValueError):
    """One field of a resource has to change; the message names it and says how."""

    def __init__(
        self,
        field: str,
        problem: str,
        reason: SpecReason = SpecReason.INVALID_SPEC,
        *,
        key: str | None = None,
    ) -> None:
        """Take the path of the field, and the `key` of its entry where it is a map."""
        self.steps: FieldPath = (*steps_of(field), *(() if key is None else (key,)))
        self.field = field if key is None else f"{field}[{key}]"
        self.reason = reason
        self.message = f"{self.field} {problem}"
        super().__init__(self.message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpecError):
            return NotImplemented
        return (self.reason, self.message) == (other.reason, other.message)

    def __hash__(self) -> int:
        return hash((self.reason, self.message))
