"""The tool `give_feedback`: an agent says which recalled memories helped."""

from pydantic import Field

from mnemic.mcp.tool import Arguments, MemoryId, MemoryTool, ToolResult
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.feedback import NOTE_MAX_CHARACTERS
from mnemic.types.scope import NAME_MAX_CHARACTERS


class FeedbackArguments(Arguments):
    """Arguments of `give_feedback`."""

    memory_id: MemoryId
    useful: bool = Field(
        default=True, description="Whether the memory helped; false if it was wrong or misleading."
    )
    cited: bool = Field(default=False, description="Whether your answer quotes or cites the memory.")
    conversation: str | None = Field(
        default=None,
        min_length=1,
        max_length=NAME_MAX_CHARACTERS,
        description="A name of this conversation that stays the same, so that it counts once.",
    )
    note: str | None = Field(
        default=None, min_length=1, max_length=NOTE_MAX_CHARACTERS, description="Why, in a sentence."
    )


class FeedbackResult(ToolResult):
    """The memory's usefulness after the feedback, from 0 to 1."""

    memory_id: str
    usefulness: float

    def texts(self) -> list[str]:
        """One line."""
        return [f"Thank you. The usefulness of memory {self.memory_id} is now {self.usefulness:.2f}."]


async def give_feedback(memory: AsyncMemory, given: FeedbackArguments) -> FeedbackResult:
    """Store the verdict of a conversation on a memory."""
    record = await memory.memories.feedback(
        given.memory_id,
        useful=given.useful,
        cited=given.cited,
        conversation=given.conversation,
        note=given.note,
    )
    return FeedbackResult(memory_id=str(record.memory_id), usefulness=record.usefulness)


GIVE_FEEDBACK = MemoryTool(
    name="give_feedback",
    title="Say whether a memory helped",
    description=(
        "Say whether a memory that recall returned helped you to answer. Call it after you have answered, "
        "for the one or two memories that your answer rests on, and with useful=false for a memory that was "
        "wrong or misled you. Memories that help rank a little higher later and fade more slowly. A "
        "conversation counts once for each memory. It changes no content: to correct a memory call retain "
        "with `replaces`. It does not work for memories that somebody else shares."
    ),
    arguments=FeedbackArguments,
    answer=FeedbackResult,
    run=give_feedback,
    writes=True,
)
