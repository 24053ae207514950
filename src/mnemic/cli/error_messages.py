"""Error messages for the command line.

Messages of the SDK name arguments of Python calls and fields of settings. Here they are reworded to name the
options of the command that failed, and environment variables.
"""

import re
from collections.abc import Sequence

import typer
from typer.core import TyperGroup, TyperOption

from mnemic.config import Settings
from mnemic.errors import ConfigurationError, InvalidInputError, MnemicError, OwnerRequiredError

OWNER_REQUIRED = "No owner: give --owner NAME, or set MNEMIC_OWNER. Every memory belongs to an owner."

# Advice for Python callers, and the same advice for the command line.
ADVICE = {
    "pass api_key=…, or set MNEMIC_API_KEY": "set MNEMIC_API_KEY",
    "Pass the API key as api_key or in MNEMIC_API_KEY": "Put the API key into MNEMIC_API_KEY",
    "leave out embedder, llm and reranker": "leave out --embedder",
    "`memory.schedules.list()`": "`mnemic schedules list`",
    "`memory.events.consumers()`": "`mnemic events consumers`",
    "either cron or every_s": "either --cron or --every",
    "must be True or False": "must be true or false",
    "given or received must be True": "Choose the grants given or received",
    "fit into max_tokens": "fit into --max-tokens",
    "must be an int, a Decimal or text such as '5.00',": "must be a number such as 5.00,",
    " Floats are not exact; pass str(value) if that is what you mean.": "",
    ", or an Embedder or EmbeddingModel of pydantic-ai": "",
}
# A message about one argument begins with its name.
FIELD = re.compile(r"\A(?P<name>[a-z_]+)(?= (?:must|has|may|is|cannot)\b|:)")
# Names of settings that cannot be taken for words.
SETTING = re.compile(r"\b({})\b".format("|".join(name for name in Settings.model_fields if "_" in name)))
# The same in a message that lists them.
BAD_SETTING = re.compile(r"(?P<name>{})(?=: [A-Z])".format("|".join(Settings.model_fields)))
# Types of Python in messages about values that came out of JSON, and their names there.
JSON_TYPES = {
    "NoneType": "null",
    "bool": "true or false",
    "dict": "an object",
    "float": "a number",
    "int": "a number",
    "list": "an array",
    "str": "text",
}
PYTHON_TYPE = re.compile(r"(?<=, not )({})(?=\.)".format("|".join(JSON_TYPES)))
LOCAL_ONLY = re.compile(r"memory\.[a-z_.]{1,100} is not available over HTTP")


def message_of(error: MnemicError, command: typer.core.TyperCommand | None) -> str:
    """What happened and what to do about it, in terms of this command's options."""
    if isinstance(error, OwnerRequiredError):
        return OWNER_REQUIRED
    message = str(error)
    for python, command_line in ADVICE.items():
        message = message.replace(python, command_line)
    message = PYTHON_TYPE.sub(lambda found: JSON_TYPES[found[0]], message)
    message = LOCAL_ONLY.sub("This cannot be done over HTTP", message)
    if isinstance(error, ConfigurationError):
        message = BAD_SETTING.sub(lambda found: f"MNEMIC_{found['name'].upper()}", message)
    if isinstance(error, InvalidInputError) and command is not None:
        message = FIELD.sub(lambda found: _option(found["name"], command), message)
    return SETTING.sub(lambda found: f"MNEMIC_{found[1].upper()}", message)


def find_command(group: TyperGroup, words: Sequence[str]) -> typer.core.TyperCommand | None:
    """The command that these words of a command line run; None if they run none."""
    for place, word in enumerate(words):
        found = group.commands.get(word)
        if isinstance(found, TyperGroup):
            return find_command(found, words[place + 1 :])
        if isinstance(found, typer.core.TyperCommand):
            return found
    return None


def _option(name: str, command: typer.core.TyperCommand) -> str:
    """The command's option for an argument of a call; the name itself if there is none.

    It has the same name, or the singular (`--category` for `categories`), or no suffix (`--expires`).
    """
    if name == "url":
        return name  # The address of a webhook, never --url, which says where the memory is.
    singulars = (name.replace("ies", "y"), name.removesuffix("es"), name.removesuffix("s"))
    wanted = {name, *singulars, name.removesuffix("_at")}
    for parameter in command.params:
        if parameter.name in wanted and isinstance(parameter, TyperOption):
            return max(parameter.opts, key=len)
    return name
