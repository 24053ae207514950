"""Something of everything that can be held about an owner, each with a word that can be searched for."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemic.context.step import Epoch, Step, Transition
from mnemic.context.store import load_window
from mnemic.documents.ingestion import ingest_document
from mnemic.govern import idempotent_requests, sessions
from mnemic.govern.idempotent_requests import IdempotentRequest, StartedAttempt, StoredResponse
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.worker import Worker
from mnemic.memory_map.making import make_map
from mnemic.promotion.promoting import promote_memories
from mnemic.promotion.thresholds import Thresholds
from mnemic.proxy.exchanges import begin_transcript, store_exchange
from mnemic.proxy.protocol import Exchange, HiddenTool, ThinkingCut
from mnemic.sdk.memory import AsyncMemory
from tests.context.saving import save_step
from tests.jobs.watching import until
from tests.opened import core_of
from tests.unsteady_engine import Unsteady


async def fill(memory: AsyncMemory, owner: str, word: str, engine: Unsteady) -> UUID:
    """Write to every group of calls; returns the id of a memory that has a bit of everything."""
    own = memory.scope(owner=owner, process=f"process of {word}", channel=f"channel {word}")
    memory_id = await _remember(own, word)
    await _promote(own, word)
    await _learn(own, word)
    await _relate(own, word, memory_id)
    await _note(own, word)
    await _curate(own, word)
    await _intend(own, word)
    await _read(own, word)
    await _share(own, word)
    await _branch(own, word)
    await _call(own, owner, word)
    await _follow(own, word)
    await _have_done(own, word)
    await make_map(core_of(own).storage.tenant_database, owner)
    engine.failing = True
    await own.retain(f"Not embedded: {word}.")
    engine.failing = False
    await core_of(own).write_hourly_metrics()
    return memory_id


async def _remember(own: AsyncMemory, word: str) -> UUID:
    turns: list[dict[str, Any]] = [
        {"role": "user", "name": f"Name {word}", "content": f"I like {word}.", "external_id": f"id {word}"},
        {"role": "assistant", "content": f"Why {word}?", "tags": [word], "metadata": {word: [word]}},
    ]
    first, second = (await own.retain(turns, conversation=f"conversation {word}")).memory_ids
    await own.conversations.record_tool(
        f"conversation {word}",
        f"tool {word}",
        arguments={"q": word},
        result=f"result {word}",
        memory_id=first,
    )
    (fact,) = (await own.retain(f"A fact about {word} and tea.", evidence=[first, word])).memory_ids
    await own.retain(f"A fact about {word} and tea!")
    # Looked for only when asked for.
    assert await own.memories.near_duplicates()
    await own.memories.update(fact, content=f"A changed fact about {word}.", reason=f"because of {word}")
    await own.memories.supersede(fact, f"A new fact about {word}.")
    await own.memories.relate(first, second, "supports")
    await own.memories.decide_outdated(first, second, "outdated", reason=f"{word} is newer")
    await own.retain(f"Long text about {word}. " * 1000)
    await own.documents.put(f"document {word}", f"First text of {word}.", title=f"Title {word}")
    await own.documents.put(f"document {word}", f"Second text of {word}.")
    await own.memories.forget(second, reason=f"{word} was wrong")
    await own.recall(f"I like {word}", refuse_below=0)
    await core_of(own).write_recalled_counts()
    await _ingest(own, word)
    return first


async def _learn(own: AsyncMemory, word: str) -> None:
    """Statements, their sources and changes, and those that were too many in one turn."""
    said = [f"I live in {word}.", " ".join(f"I love {word} {number}." for number in range(7))]
    turns = [{"role": "user", "name": f"Name {word}", "content": content} for content in said]
    await own.retain(turns, conversation=f"conversation {word}")
    learnt = await own.consolidate()
    assert learnt.statement_count > 0
    assert learnt.rejected_count > 0


async def _promote(own: AsyncMemory, word: str) -> None:
    """A memory that was useful in two conversations, and was promoted."""
    (fact,) = (await own.retain(f"Everybody knows {word}.", confidence=0.9)).memory_ids
    for number in range(5):
        await own.memories.feedback(fact, conversation=f"conversation {number} {word}", note=f"about {word}")
    database = core_of(own).storage.tenant_database
    promoted = await promote_memories(database, Thresholds(), own.owner)
    assert promoted["promoted_count"] == 1


async def _curate(own: AsyncMemory, word: str) -> None:
    """Changes that are undone, and others that are staged."""
    for number in (1, 2):
        older, newer = (
            await own.retain(
                [f"The {word} club {number} meets daily.", f"Club {number} of {word} has closed."]
            )
        ).memory_ids
        await own.memories.decide_outdated(older, newer, "outdated")
        run = await own.curation.propose(kinds=["supersede"])
        assert run.changeset_id is not None
        if number == 1:
            await own.curation.approve(run.changeset_id)
            await own.curation.apply(run.changeset_id)
            await own.curation.undo(run.changeset_id)
    await own.curation.set_policy("archive", automatic=True)
    await own.cleanup.counts(refresh=True)


async def _ingest(own: AsyncMemory, word: str) -> None:
    """A document whose chunks wait for the vectors of another model."""
    filed = await own.documents.ingest(f"file {word}.md", f"# Heading {word}\n\nText of a file about {word}.")
    await ingest_document(core_of(own), filed.document.document_id)
    ids = [chunk.memory_id for chunk in await own.documents.chunks(f"file {word}.md")]
    async with core_of(own).storage.tenant_database.transaction() as transaction:
        await transaction.execute("reembedding.mark", {"tenant_id": own.tenant.id, "ids": ids})


async def _relate(own: AsyncMemory, word: str, memory_id: UUID) -> None:
    person = await own.entities.upsert(
        "person", f"Person {word}", facts={"likes": word}, aliases=[f"Alias {word}"], evidence=memory_id
    )
    city = await own.entities.upsert("city", f"City {word}", metadata={"m": word})
    await own.entities.upsert("person", f"Person {word}", facts={"likes": f"not {word}"})
    await own.retain(f"Person {word} lives in City {word}.")
    await own.entities.relate(person, city, f"was born in {word}", evidence=memory_id)
    await own.entities.unrelate(person, city, f"was born in {word}")
    await own.entities.relate(person, city, f"lives in {word}", evidence=memory_id)
    await own.entities.upsert("thing", f"Thing {word}")
    await own.entities.delete("thing", f"Thing {word}")
    await own.triples.add(f"subject {word}", f"predicate {word}", f"object {word}", evidence=memory_id)


async def _note(own: AsyncMemory, word: str) -> None:
    await own.state.set(f"key {word}", {"document": word})
    await own.journal.append(evaluated=word, acted={"did": word}, forward=[word], extra={"x": word})
    await own.revenue.append("12.345678901234567890", "EUR", source=f"shop {word}", description=word)
    await own.errors.record(f"kind {word}", f"message {word}", detail={"d": word})
    await own.metrics.record("recall", f"metric {word}", 1.5, metadata={"m": word})
    await own.actors.flag(f"actor {word}", reason=f"reason {word}", evidence=[word])
    await own.actors.clear(f"actor {word}", reason=f"cleared {word}")
    await own.processes.set(f"attribute {word}", {"value": word}, process=f"other {word}", evidence=[word])


async def _intend(own: AsyncMemory, word: str) -> None:
    """Goals, strategies and working memory."""
    blocker = await own.goals.create(f"Buy {word}", metadata={"m": word}, deadline="2030-01-01")
    goal = await own.goals.create(f"Sell {word}", parent=blocker.goal_id, blocked_by=[blocker.goal_id])
    await own.goals.update(goal.goal_id, result=f"Sold {word}.")
    await own.strategies.learn(
        f"task {word}", f"Do {word}.", tools=[f"tool {word}"], succeeded=False, note=f"No {word}."
    )
    await own.working.set(f"key {word}", {"value": word}, conversation=f"conversation {word}")
    await own.working.add_thought(f"A thought about {word}.")
    await own.working.set_active_goal(goal.goal_id)


async def _read(own: AsyncMemory, word: str) -> None:
    """A context session: two copies of a file, a command that faulted and an epoch, learned from."""
    context = own.context(f"session {word}")
    text = "\n".join(f"{number}: a line about {word}" for number in range(400))
    for copy in range(2):
        await context.admit(
            f"{text}\n{copy}", tool=f"tool {word}", key=f"file {word}", tags=[word], type="file"
        )
    await context.admit(f"output of {word}\n" * 3_000, tool="bash", key=f"run {word}", type="command")
    await context.query(f"what about {word}?", object=f"file {word}")
    await context.restore(f"file {word}")
    await context.relate(f"run {word}", f"file {word}")
    assert [level.made_by for level in (await context.get(f"file {word}")).levels] == ["rules"] * 3
    closed = await context.close()
    assert closed.memory_ids
    database = core_of(own).storage.tenant_database
    window = await load_window(database, own._scope, f"session {word}")
    assert window is not None
    key = window.objects[0].key
    step = Step(
        call=window.calls,
        tokens=10,
        zone="emergency",
        transitions=(Transition(key, 0, 3, f"superseded for {word}"),),
        epoch=Epoch(1, "emergency", 20, 10, 0.5),
    )
    await save_step(database, own._scope, f"session {word}", step, window, {}, previous=window)
    place = (database, own._scope, f"session {word}")
    cut = ThinkingCut(f"first {word}", f"last {word}")
    tool = HiddenTool(f"tool {word}", word, {})
    await begin_transcript(*place, opening=f"opening {word}", tools=[tool], cut=cut)
    await store_exchange(*place, Exchange(f"turn {word}", [{"text": word}]))


async def _follow(own: AsyncMemory, word: str) -> None:
    await own.schedules.set(f"schedule {word}", "about", every_s=3600, payload={"of": word}, owner=own.owner)
    async for _ in own.events.subscribe(f"consumer {word}", start="beginning"):
        break
    made = await own.webhooks.create(f"https://{word}.invalid/")
    await own.webhooks.test(made.webhook.webhook_id)
    # So that nothing is sent, and nothing changes by itself, while somebody compares rows.
    await own.webhooks.disable(made.webhook.webhook_id)


async def _have_done(own: AsyncMemory, word: str) -> None:
    """Jobs that wait, that were called off, and one that failed once."""
    await own.jobs.enqueue("about", {"of": word}, key=f"key {word}")
    await own.jobs.cancel((await own.jobs.enqueue("about", {"of": word})).job_id)
    failing = await own.jobs.enqueue("failing", {"of": word})

    async def fail(job: RunningJob) -> None:
        raise ValueError(word)

    worker = Worker(core_of(own).storage.database, {"failing": fail}, only_tenant=own.tenant)
    work = asyncio.create_task(worker.run())
    await until(own, failing.job_id, lambda job: len(job.history) == 1)
    worker.stop(grace_s=0)
    await work


async def _call(own: AsyncMemory, owner: str, word: str) -> None:
    """What a server keeps of somebody who calls it: a key, and an answer in case it is asked again."""
    key = await own.keys.create(role="write", name=f"key of {word}")
    database = core_of(own).storage.tenant_database
    request = IdempotentRequest(key.key_id, sha256(word.encode()).digest(), owner)
    begun = await idempotent_requests.begin(database, request)
    assert isinstance(begun, StartedAttempt)
    answer = StoredResponse(bytes(32), 200, "application/json", word.encode())
    await idempotent_requests.finish(database, request, begun.attempt_id, answer)
    await own.keys.revoke(key.key_id)
    # A key of nobody in particular: an import would end the key of an owner, and its sessions with it.
    everybody = own._in_scope(replace(own._scope, owner=None, process="everybody"))
    await sessions.open_session(database, await everybody.keys.create(role="read"))


async def _share(own: AsyncMemory, word: str) -> None:
    grant = await own.shares.grant(
        f"reader {word}",
        channel=f"channel {word}",
        categories=["factual"],
        tags=[word],
        conversation=f"conversation {word}",
        expires_at="9999-01-01T00:00:00Z",
        reason=f"shared for {word}",
    )
    await own.shares.revoke(grant.grant_id, reason=f"no longer for {word}")
    await _join(own)


async def _branch(own: AsyncMemory, word: str) -> None:
    parent, channel = f"channel {word}", f"branch {word}"
    (kept,) = (await own.retain(f"A plan about {word}.")).memory_ids
    await own.channels.fork(channel, parent=parent, reason=f"what if {word}")
    await own.retain(f"Another plan about {word}.", channel=channel)
    await own.memories.forget(kept, channel=channel, reason=f"not {word}")


async def _join(own: AsyncMemory) -> None:
    """Be a member of a group, and drop a grant to it."""
    tenant = own._in_scope(replace(own._scope, owner=None, process="tests"))
    if not await tenant.groups.list():
        await tenant.groups.create("readers")
    await tenant.groups.add("readers", str(own.owner))
    shared = await tenant.groups.grant("readers", owner="handbook")
    await own.shares.drop(shared.grant_id)
