"""What the scripted model does in a session with an agent."""

from pathlib import Path

from tests.proxy.upstream.script import Call, Script, ScriptedPart, Step, Thinking, Use, script, step

FILES = 8
FILE_LINES = 200
END = "End of prompt {number}."
HIDDEN = ("recall", "retain", "memory_query", "memory_restore")


def write_files(project: Path) -> None:
    """Small files for the agent to read."""
    project.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        lines = (f"def function_{line}_of_{number}(): return {line * number}" for line in range(FILE_LINES))
        (project / f"file_{number}.py").write_text("\n".join(lines) + "\n")


def plain_session(project: Path) -> Script:
    """Two prompts with tools of the agent only."""
    read, list_files = Use("read", str(project / "file_0.py")), Use("bash", f"ls {project}")
    first = [step(Thinking("What is there?"), "I look.", read), step(Thinking("And now?"), read, list_files)]
    second = [step(Thinking("Once more."), Use("bash", "echo done"))]
    return script(*([*steps, step(END.format(number=n))] for n, steps in enumerate((first, second))))


def session(project: Path, prompts: int, steps: int) -> Script:
    """A script of prompts with so many steps each."""
    return script(*(_prompt(project, number, steps) for number in range(prompts)))


def _prompt(project: Path, number: int, steps: int) -> list[Step]:
    made = [_step(project, number * steps + turn) for turn in range(steps - 1)]
    return [*made, step(END.format(number=number))]


def _step(project: Path, turn: int) -> Step:
    """Six kinds of turns, one after the other."""
    thought = Thinking(f"Thought of turn {turn}.")
    read = Use("read", str(project / f"file_{turn % FILES}.py"))
    run = Use("bash", f"echo turn {turn}")
    recall = Call("recall", {"query": f"what happened before turn {turn}?"})
    retain = Call("retain", {"text": f"Turn {turn} was reached."})
    kinds: tuple[tuple[ScriptedPart | str, ...], ...] = (
        (thought, f"Turn {turn}.", read),
        (thought, recall),
        (thought, recall, run),
        (thought, run, recall),
        (thought, "Several at once.", read, recall, run, retain),
        (run,),
    )
    return step(*kinds[turn % len(kinds)])
