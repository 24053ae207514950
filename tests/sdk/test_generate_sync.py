"""The generator of the synchronous facade, on a small sample SDK."""

import importlib.util
import inspect
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mnemic.errors import ClosedError
from tests.sdk import sample_group, sample_memory
from tests.sdk.sample_group import Value
from tools import generate_sync

SOURCES = [sample_memory, sample_group]


@pytest.fixture(scope="module")
def generated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = generate_sync.generate({module.__name__: inspect.getsource(module) for module in SOURCES})
    path = tmp_path_factory.mktemp("generated") / "sample_sync.py"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module")
def sample(generated_file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_sync", generated_file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def memory(sample: ModuleType) -> Iterator[Any]:
    with sample.Memory("here", owner="alice") as memory:
        yield memory


def log_of(memory: Any) -> list[str]:
    log: list[str] = memory._async.log
    return log


def test_the_result_passes_the_projects_own_checks(generated_file: Path) -> None:
    for check in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]):
        command = [sys.executable, "-m", *check, str(generated_file)]
        done = subprocess.run(command, cwd=generate_sync.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_result_says_that_it_is_generated(generated_file: Path) -> None:
    assert "do not edit, run `make generate`" in generated_file.read_text("utf-8").partition("import")[0]


@pytest.mark.parametrize("name", ["__init__", "retain", "recall", "forget", "fail", "size"])
def test_signatures_are_equal(sample: ModuleType, name: str) -> None:
    # The facade has postponed annotations, the sample has not: compare what they stand for.
    twin = inspect.signature(getattr(sample.Memory, name), eval_str=True)
    assert twin == inspect.signature(getattr(sample_memory.AsyncMemory, name))


def test_signatures_of_groups_are_equal(sample: ModuleType) -> None:
    assert inspect.signature(sample.State.get) == inspect.signature(sample_group.AsyncState.get)
    assert "__init__" not in vars(sample.State)


def test_private_methods_are_not_translated(sample: ModuleType) -> None:
    assert not hasattr(sample.Memory, "_private")
    assert not hasattr(sample.Memory, "aclose")
    assert sample.__all__ == ["Memory", "State"]


def test_docstrings_become_synchronous(sample: ModuleType) -> None:
    assert inspect.getdoc(sample.Memory) == (
        "Remembers in a list.\n\n"
        '>>> with Memory("here") as memory:\n'
        '...     memory.retain("Alice moved.", owner="alice")\n'
        "...     for text in memory.texts():\n"
        "...         print(text)"
    )
    assert inspect.getdoc(sample.Memory.close) == (
        "Disconnect. After `close` nothing works; see Memory and AsyncGenerator."
    )
    assert inspect.getdoc(sample.State) == 'Small values by name: `memory.state.get("mood")`.'


def test_prose_is_unchanged(sample: ModuleType) -> None:
    assert (inspect.getdoc(sample.Memory.retain) or "").startswith("Keep items; does not await the worker.")


def test_arguments_of_every_kind_are_passed(memory: Any) -> None:
    assert memory.retain("a", "b", "c", owner="bob", colour="red") == 3
    assert memory.size() == 3
    assert memory.recall("q", 5, order="newest") == {"query": "q", "limit": 5, "order": "newest"}
    assert memory.recall("q") == {"query": "q", "limit": sample_memory.DEFAULT_LIMIT, "order": "best"}
    memory.forget(["a", "b"])
    assert memory.size() == 1


def test_errors_are_raised_unchanged(memory: Any) -> None:
    error = LookupError("not here")
    with pytest.raises(LookupError) as caught:
        memory.fail(error)
    assert caught.value is error


def test_properties_and_plain_methods_are_passed_through(memory: Any) -> None:
    assert memory.owner == "alice"
    assert memory.size() == 0


def test_an_async_generator_becomes_an_iterator(memory: Any) -> None:
    memory.retain("a", "b")
    assert list(memory.texts()) == ["a", "b"]
    assert log_of(memory)[-1] == "texts closed"


def test_a_coroutine_of_an_iterator_becomes_an_iterator(memory: Any, sample: ModuleType) -> None:
    assert list(memory.subscribe(after=5)) == [5, 6, 7]
    assert sample.Memory.subscribe.__annotations__["return"] == "Iterator[int]"


def test_groups_are_wrapped(memory: Any, sample: ModuleType) -> None:
    assert isinstance(memory.state, sample.State)
    assert memory.state.get("mood", default=Value("mood", 1)) == Value("mood", 1)
    assert memory.state.memory.owner == "alice"
    assert memory.state.put_all({"a": Decimal(1)}) == [Value("a", Decimal(1))]


def test_views_are_wrapped_and_share_the_portal(memory: Any, sample: ModuleType) -> None:
    for view in (memory.scope(owner="bob"), memory.archive("bob")):
        assert isinstance(view, sample.Memory)
        assert view.owner == "bob"
        assert view._portal is memory._portal


def test_closing_a_view_leaves_the_memory_open(memory: Any) -> None:
    with memory.scope(owner="bob") as view:
        view.retain("a")
    view.close()
    assert memory.retain("b") == 1


def test_closing_the_memory_ends_its_views(sample: ModuleType) -> None:
    memory = sample.Memory()
    view = memory.scope(owner="bob")
    memory.close()
    with pytest.raises(ClosedError, match="open a new one"):
        view.retain("a")
    view.close()


def test_the_constructor_returns_an_open_memory(sample: ModuleType) -> None:
    memory = sample.Memory()
    assert log_of(memory) == ["open"]
    memory.close()


def test_no_thread_is_left_when_opening_fails(sample: ModuleType) -> None:
    memory = sample.Memory.__new__(sample.Memory)
    with pytest.raises(sample_memory.CannotOpen):
        memory.__init__(fails=True)
    assert not memory._portal._thread.is_alive()


def test_leaving_the_context_closes_the_memory_then_the_portal(sample: ModuleType) -> None:
    with sample.Memory() as memory:
        assert memory.open() is memory
    assert log_of(memory)[-1] == "aclose"
    assert not memory._portal._thread.is_alive()
    memory.close()
    with pytest.raises(ClosedError, match="open a new one"):
        memory.retain("a")
    with pytest.raises(ClosedError, match="open a new one"):
        memory.open()


async def test_it_works_inside_a_running_event_loop(sample: ModuleType) -> None:
    with sample.Memory() as memory:
        assert memory.retain("a") == 1
        assert list(memory.texts()) == ["a"]


def test_context_variables_of_the_caller_are_seen(memory: Any) -> None:
    token = sample_memory.caller.set("a test")
    try:
        assert memory.caller() == "a test"
    finally:
        sample_memory.caller.reset(token)


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        ("async def get(self): ...", "does not say what it returns"),
        ("@classmethod\n    def load(cls) -> None: ...", "decorator {'classmethod'}"),
        ("async def merge(self, other: 'AsyncMemory') -> None: ...", "takes {'AsyncMemory'}"),
        ("async def views(self) -> list[AsyncMemory]: ...", "returns list"),
        ("def transaction(self) -> AbstractAsyncContextManager[None]: ...", "returns AbstractAsyncContext"),
        ("def later(self) -> Awaitable[int]: ...", "returns Awaitable"),
        ("def view(self) -> Self: ...", "returns Self"),
    ],
)
def test_what_cannot_be_translated_is_an_error(method: str, complaint: str) -> None:
    with pytest.raises(generate_sync.CannotTranslateError, match=complaint):
        generate_sync.generate({"sample": f"class AsyncMemory:\n    {method}"})


def test_inheritance_between_async_classes_is_an_error() -> None:
    with pytest.raises(generate_sync.CannotTranslateError, match="AsyncB inherits"):
        generate_sync.generate({"sample": "class AsyncA: ...\nclass AsyncB(AsyncA): ..."})


def test_methods_of_a_plain_base_class_are_translated() -> None:
    source = "class Calls:\n    async def ping(self) -> None: ...\nclass AsyncA(Calls): ..."
    assert "def ping(self) -> None:" in generate_sync.generate({"sample": source})


def test_the_check_fails_with_a_diff_until_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sdk = tmp_path / "src" / "mnemic" / "sdk"
    sdk.mkdir(parents=True)
    (sdk / "call_groups.py").write_text("", "utf-8")
    (sdk / "memory.py").write_text("class AsyncMemory:\n    async def ping(self) -> None: ...\n", "utf-8")
    for name, value in {"ROOT": tmp_path, "SDK": sdk, "TARGET": sdk / "_sync.py"}.items():
        monkeypatch.setattr(generate_sync, name, value)

    assert generate_sync.main(["--check"]) == 1
    printed = capsys.readouterr()
    assert "+    def ping(self) -> None:" in printed.out
    assert "src/mnemic/sdk/_sync.py is out of date: run `make generate`." in printed.err
    assert generate_sync.main([]) == 0
    assert generate_sync.main(["--check"]) == 0


def test_groups_are_found_in_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = tmp_path / "src" / "mnemic" / "sdk" / "groups"
    groups.mkdir(parents=True)
    (groups.parent / "call_groups.py").write_text("", "utf-8")
    (groups.parent / "memory.py").write_text("class AsyncMemory: ...\n", "utf-8")
    (groups / "state.py").write_text("class AsyncState: ...\n", "utf-8")
    target = groups.parent / "_sync.py"
    for name, value in {"ROOT": tmp_path, "SDK": groups.parent, "TARGET": target}.items():
        monkeypatch.setattr(generate_sync, name, value)

    assert generate_sync.main([]) == 0
    assert "from mnemic.sdk.groups.state import AsyncState" in target.read_text("utf-8")
