"""Tags are normalised as the database requires."""

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tags import check_tags, normal_tag
from tests.conftest import AppConnection

TAG = st.text(max_size=70)


def are_tags(superuser: AppConnection, tags: tuple[str, ...]) -> bool:
    row = superuser.execute("SELECT mnemic.are_tags(%s::text[])", [list(tags)]).fetchone()
    assert row is not None
    return bool(row[0])


@given(tags=st.lists(TAG, max_size=66))
@example(tags=["İ", "i̇", "ẞ", "ß", "Σ", "ς", "ǅ", "\u2003a\u3000", "K", "\x1ca\x85"])
@example(tags=["a", " A ", "a"])
@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
def test_checked_tags_satisfy_the_database(superuser: AppConnection, tags: list[str]) -> None:
    try:
        normal = check_tags(tags)
    except InvalidInputError:
        return
    assert are_tags(superuser, normal)
    assert check_tags(normal) == normal
    assert set(normal) == {normal_tag(tag) for tag in tags}
    assert list(normal) == sorted(set(normal))


@given(tag=TAG)
@settings(max_examples=300)
def test_a_normal_tag_is_its_own_normal_form(tag: str) -> None:
    assert normal_tag(normal_tag(tag)) == normal_tag(tag)
    assert len(normal_tag(tag)) <= len(tag)


@pytest.mark.parametrize("tags", [["A"], [" a"], ["a", "a"], [""], ["t" * 65]], ids=str)
def test_the_database_refuses_what_is_not_normal(superuser: AppConnection, tags: list[str]) -> None:
    assert not are_tags(superuser, tuple(tags))


async def test_memories_are_filtered_by_all_of_the_given_tags(memory: AsyncMemory) -> None:
    await memory.retain(
        [
            {"content": "both", "tags": ["Home ", "moving"]},
            {"content": "one", "tags": ["HOME"]},
            {"content": "none"},
        ]
    )
    found = await memory.memories.list(tags=["home", "Moving"])
    assert [record.content for record in found] == ["both"]


async def test_a_memory_never_has_more_tags_than_allowed(memory: AsyncMemory) -> None:
    (memory_id,) = (await memory.retain("x", tags=[f"tag {number}" for number in range(60)])).memory_ids
    await memory.memories.tag(memory_id, "one", "two", "three", "four")
    with pytest.raises(InvalidInputError, match="at most 64"):
        await memory.memories.tag(memory_id, "five")
    await memory.memories.untag(memory_id, "ONE")
    record = await memory.memories.tag(memory_id, "five")
    assert len(record.tags) == 64


def test_the_table_checks_tags(superuser: AppConnection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        superuser.execute(
            "INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source, tags)"
            " SELECT tenant_id, 'a', 'a', 'a', 'a', 'factual', 'imported', '{A}' FROM state.tenants LIMIT 1"
        )
