"""The page Keys: keys are listed, created and shown once, revoked."""

import re

from mnemic.types.key import Role
from tests.dashboard.running import Dashboard
from tests.server.running import RunningServer


def test_a_new_key_is_shown_once_and_works(empty_dashboard: Dashboard, served: RunningServer) -> None:
    with empty_dashboard.client() as client:
        form = {"name": "<b>reader</b>", "role": "read", "for_owner": "alice", "expires": "30 days"}
        answer = client.post("/ui/keys", data=form)
        assert answer.status_code == 200
        (key,) = re.findall(r"mn_[A-Za-z0-9_-]{43}", answer.text)
        assert "&lt;b&gt;reader" in answer.text
        assert answer.headers["cache-control"] == "no-store"
        assert key not in client.get("/ui/keys").text
    with served.client(key) as program:
        who = program.get("/v1/whoami").json()
    assert (who["role"], who["owner"]) == ("read", "alice")
    newest, _ = empty_dashboard.run(empty_dashboard.memory.keys.list())
    assert newest.name == "<b>reader</b>"
    assert newest.expires_at is not None


def test_wrong_fields_create_nothing_and_say_what_is_wrong(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for form, reason in (
            ({"role": "king"}, "role must be one of"),
            ({"role": "admin", "for_owner": "alice"}, "role must be read or write"),
            ({"role": "read", "expires": "yesterday"}, "expires must be one of"),
            ({"role": "read", "name": "x" * 300}, "name must have 1 to 256"),
        ):
            answer = client.post("/ui/keys", data=form)
            assert answer.status_code == 422, form
            assert reason in answer.text
            assert answer.headers["content-type"].startswith("text/html")
    assert len(empty_dashboard.run(empty_dashboard.memory.keys.list())) == 1


def test_revoking_a_key_ends_it_and_its_sessions(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as admin, empty_dashboard.client("write") as writer:
        (key,) = [
            each for each in empty_dashboard.run(empty_dashboard.memory.keys.list()) if each.role == "write"
        ]
        assert key.session_count == 1
        assert "1 signed-in browser is signed out" in admin.get("/ui/keys").text
        answer = admin.post("/ui/keys/revoke", data={"key_id": str(key.key_id)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/keys")
        assert "Revoked" in admin.get("/ui/keys").text
        assert writer.get("/ui").headers["location"] == "/ui/sign-in"
        assert key.prefix not in admin.get("/ui/keys").text
        assert key.prefix in admin.get("/ui/keys?ended=yes").text
        assert admin.post("/ui/keys/revoke", data={"key_id": "x"}).status_code == 422
    after = empty_dashboard.run(empty_dashboard.memory.keys.get(key.key_id))
    assert after.revoked_at is not None
    assert after.session_count == 0


def test_keys_are_paged(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for number in range(51):
            empty_dashboard.run(empty_dashboard.memory.keys.create(role="read", name=f"key {number:02}"))
        first = client.get("/ui/keys").text
        (older,) = re.findall(r'href="([^"]*before=[^"]*)"', first)
        second = client.get(older.replace("&amp;", "&")).text
        assert "key 50" in first
        assert "key 00" not in first
        assert "key 00" in second


def test_only_admins_see_the_page(empty_dashboard: Dashboard) -> None:
    visitors: tuple[tuple[Role, str | None], ...] = (("read", None), ("write", None), ("write", "alice"))
    for role, owner in visitors:
        with empty_dashboard.client(role, owner) as client:
            assert client.get("/ui/keys").status_code == 403
            assert client.post("/ui/keys", data={"role": "admin"}).status_code == 403
            assert 'data-page="keys"' not in client.get("/ui/keys").text
    assert len(empty_dashboard.run(empty_dashboard.memory.keys.list())) == 3
