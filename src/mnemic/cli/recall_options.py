"""The options of `mnemic recall`. A test compares them with the arguments of `memory.recall`."""

from typing import Annotated

import typer

from mnemic.types.memory import CATEGORIES, SOURCES, STATUSES
from mnemic.types.recalled import INCLUDES, TECHNIQUES

Query = Annotated[str, typer.Argument(help="What to look for, in your own words.")]
Limit = Annotated[int, typer.Option(help="Maximum number of hits.")]
MaxTokens = Annotated[int | None, typer.Option(help="Maximum number of tokens of --text.")]
# Typer cannot check lists of choices: the SDK checks them, and its error lists what is allowed.
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help=f"Only this category; may be repeated. One of: {', '.join(CATEGORIES)}."),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; repeated: with all of them.")
]
Conversation = Annotated[str | None, typer.Option(help="Only from this conversation.")]
Since = Annotated[
    str | None, typer.Option(help="Only what happened since: 2026-03-01, or 2026-03-01T10:00:00Z.")
]
Until = Annotated[str | None, typer.Option(help="Only what happened before this date or time.")]
AsOf = Annotated[str | None, typer.Option(help="Answer with what was known and valid at this date or time.")]
At = Annotated[
    str | None,
    typer.Option(help='When the question is asked, for words such as "yesterday". Default: now.'),
]
MinConfidence = Annotated[
    float | None, typer.Option(help="Only memories with at least this confidence, 0 to 1.")
]
Channels = Annotated[
    list[str] | None,
    typer.Option(help="Search this channel instead of --channel and _global; may be repeated."),
]
Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        help=f"Only in this status; may be repeated. One of: {', '.join(STATUSES)}. Default: active.",
    ),
]
Metadata = Annotated[
    str | None, typer.Option(help='Only memories whose metadata contains this JSON: {"project": "x"}.')
]
Role = Annotated[str | None, typer.Option(help="Only what was said in this role, such as user.")]
Name = Annotated[str | None, typer.Option(help="Only what was said by the person with exactly this name.")]
Document = Annotated[str | None, typer.Option(help="Only from the document with exactly this name.")]
Source = Annotated[str | None, typer.Option(help=f"Only from this source. One of: {', '.join(SOURCES)}.")]
MinScore = Annotated[float | None, typer.Option(help="Leave out hits with a lower score, 0 to 1.")]
RefuseBelow = Annotated[
    float | None, typer.Option(help="Refuse to answer below this confidence; 0 never refuses.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse instead of showing hits that may not answer the query.")
]
NoRecord = Annotated[
    bool, typer.Option("--no-record", help="Neither log the call nor count it as a use of its hits.")
]
Techniques = Annotated[
    list[str] | None,
    typer.Option(
        "--technique",
        help="Technique to search with; may be repeated (env: MNEMIC_TECHNIQUES). "
        f"One of: {', '.join(TECHNIQUES)}; the last three need an LLM.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show the score of each hit part by part, and the time of each stage."),
]
Includes = Annotated[
    list[str] | None,
    typer.Option("--include", help=f"Also show this; may be repeated. One of: {', '.join(INCLUDES)}."),
]
CurrentConversation = Annotated[
    str | None, typer.Option(help="The conversation whose working memory `--include working` shows.")
]
AllFields = Annotated[bool, typer.Option("--all-fields", help="With --json: also fields that are null.")]
Text = Annotated[bool, typer.Option("--text", help="Print only the text for a prompt.")]
