"""Progress of long calls: a progress bar on standard error, or a callback."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def progress_reporter(
    progress: bool | Callable[[int], None], title: str = "retaining"
) -> Iterator[Callable[[int], None]]:
    """Gives the function to call with the number of items done so far."""
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda count: None
    else:
        columns = (SpinnerColumn(), TextColumn(title), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(title, total=None)
            yield lambda count: bar.update(task, completed=count)
