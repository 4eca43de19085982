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
        # By this name it is approved; whoever has something hidden in it waits for nothing.
        waits = self.reason is ToolReason.DEFINITION_CHANGED
        return SkippedTool(
            name=self.name if waits else printable(self.name),
            reason=self.reason,
            message=self.message,
            digest=self.digest,
        )
