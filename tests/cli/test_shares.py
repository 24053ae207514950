"""`mnemic shares`: grant, list, revoke."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_a_grant_is_given_seen_and_revoked(mnemic: Run, memory: Memory) -> None:
    memory.retain("Alice plays the cello.", tags=["music"])
    given = mnemic("shares", "grant", "bob", "--tag", "music", "--category", "factual", "--json").json
    assert memory.recall("cello", owner="bob", refuse_below=0)
    assert [each["grant_id"] for each in mnemic("shares", "list", "--json").json] == [given["grant_id"]]
    assert mnemic("shares", "list", "--received", "--json").json == []
    received = mnemic("shares", "list", "--received", "--owner", "bob", "--json").json
    assert [each["granted_to"] for each in received] == ["bob"]
    shown = " ".join(mnemic("shares", "list").out.split())
    assert "alice bob factual, tagged music" in shown
    ended = mnemic("shares", "revoke", given["grant_id"], "--reason", "enough")
    assert (ended.code, ended.out.startswith("Revoked: alice → bob")) == (0, True)
    assert not memory.recall("cello", owner="bob", refuse_below=0)
    assert mnemic("shares", "list", "--json").json == []
    assert "revoked" in mnemic("shares", "list", "--ended").out


def test_only_who_gave_a_grant_revokes_it(mnemic: Run, memory: Memory) -> None:
    given = memory.shares.grant("bob")
    ended = mnemic("shares", "revoke", given.grant_id, "--owner", "bob")
    assert (ended.code, ended.out) == (1, "")
    assert "everything" in mnemic("shares", "list").out
    assert mnemic("shares", "grant", "bob", "--expires-at", "soon").code == 1
