"""`mnemic shares`: grant, accept, drop, revoke, list, policy; and `mnemic groups`."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_a_grant_is_given_seen_and_revoked(mnemic: Run, memory: Memory) -> None:
    memory.retain("Alice plays the cello.", tags=["music"])
    given = mnemic("shares", "grant", "bob", "--tag", "music", "--category", "factual", "--json").json
    assert given["state"] == "offered"
    assert not memory.recall("cello", owner="bob", refuse_below=0)
    offers = mnemic("shares", "list", "--received", "--state", "offered", "--owner", "bob", "--json").json
    assert [each["grant_id"] for each in offers] == [given["grant_id"]]
    accepted = mnemic("shares", "accept", given["grant_id"], "--owner", "bob")
    assert (accepted.code, accepted.out.startswith("Accepted: alice → bob")) == (0, True)
    assert memory.recall("cello", owner="bob", refuse_below=0)
    assert [each["grant_id"] for each in mnemic("shares", "list", "--json").json] == [given["grant_id"]]
    assert mnemic("shares", "list", "--received", "--json").json == []
    received = mnemic("shares", "list", "--received", "--owner", "bob", "--json").json
    assert [each["granted_to"] for each in received] == ["bob"]
    shown = " ".join(mnemic("shares", "list").out.split())
    assert "alice bob factual, tagged active music" in shown
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


def test_a_grant_is_dropped_by_its_reader(mnemic: Run, memory: Memory) -> None:
    given = mnemic("shares", "grant", "bob", "--reason", "we travel together")
    assert given.out.startswith("Offered: alice → bob")
    (offer,) = memory.shares.list(given=False, received=True, owner="bob")
    assert "we travel together" in mnemic("shares", "list", "--received", "--owner", "bob").out
    dropped = mnemic("shares", "drop", offer.grant_id, "--owner", "bob", "--json").json
    assert dropped["state"] == "dropped"
    refused = mnemic("shares", "accept", offer.grant_id, "--owner", "bob")
    assert (refused.code, "This grant is dropped, for good" in refused.said) == (1, True)


def test_the_policy_is_shown_and_set(mnemic: Run, memory: Memory) -> None:
    assert mnemic("shares", "policy").out == "ask\n"
    assert mnemic("shares", "policy", "accept_all").out == "accept_all\n"
    assert mnemic("shares", "grant", "bob").out.startswith("Granted: alice → bob")
    assert mnemic("shares", "policy", "ask", "--json").json == {"policy": "ask"}
    assert mnemic("shares", "policy", "never").code == 2


def test_a_group_is_managed_and_gets_a_grant(mnemic: Run, memory: Memory) -> None:
    memory.retain("The office closes at noon.", owner="handbook")
    assert mnemic("groups", "create", "support").out == "Created: support\n"
    assert mnemic("groups", "add", "support", "bob").out == "Added: bob\n"
    assert mnemic("groups", "add", "support", "bob").out == "A member already: bob\n"
    given = mnemic("groups", "grant", "support", "--owner", "handbook")
    assert given.out.startswith("Granted: handbook → group support")
    assert memory.recall("office", owner="bob")
    assert mnemic("groups", "members", "support").out == "bob\n"
    assert mnemic("groups", "members", "support", "--json").json == ["bob"]
    assert "support" in mnemic("groups", "list").out
    assert [each["member_count"] for each in mnemic("groups", "list", "--json").json] == [1]
    assert "group support" in " ".join(mnemic("shares", "list", "--owner", "handbook").out.split())
    assert mnemic("groups", "remove", "support", "bob").out == "Removed: bob\n"
    assert mnemic("groups", "remove", "support", "bob", "--json").json == {"removed": False}
    assert not memory.recall("office", owner="bob")
    assert mnemic("groups", "delete", "support").out == "Deleted: support\n"
    assert mnemic("groups", "delete", "support").code == 1
    assert mnemic("groups", "grant", "everyone").code == 2
