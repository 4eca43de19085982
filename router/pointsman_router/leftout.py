"""What of an upstream's offer is never shown: by which name, and why."""

from dataclasses import dataclass

from pointsman_contract.report import SkippedTool, ToolReason, printable


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One tool, prompt, resource or template that is not shown; its name may hold anything."""

    name: str
    reason: ToolReason
    message: str
    digest: str | None = None
    """Of the definition that waits to be approved, where that is the reason."""

    @property
    def told(self) -> SkippedTool:
        """Return it as a report may hold it."""
        return SkippedTool(
            name=printable(self.name),
            reason=self.reason,
            message=self.message,
            digest=self.digest,
        )
