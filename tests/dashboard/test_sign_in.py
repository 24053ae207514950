"""Signing in and out: the cookie, the session behind it, and when it ends."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from mnemic.db.database import TenantDatabase
from mnemic.govern import sessions
from mnemic.govern.sessions import SESSIONS_PER_KEY_MAX
from mnemic.server.browser_sessions import COOKIE
from mnemic.types.key import NewApiKey, Role
from tests.dashboard.running import SAME_ORIGIN, Dashboard
from tests.server.running import TLS, RunningServer, cookie_of

PAGE = "/ui/keys"


@pytest.fixture
def visitor(served: RunningServer) -> Iterator[httpx.Client]:
    """A browser that has not signed in; redirects are not followed."""
    with httpx.Client(base_url=served.url, headers=SAME_ORIGIN, timeout=60, verify=TLS) as client:
        yield client


@pytest.fixture
def dashboard_admin(served: RunningServer) -> Iterator[psycopg.Connection[Any]]:
    """An administrator of the database."""
    place = served.tenants._host.storage.server
    assert place is not None
    with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True) as connection:
        yield connection


def new_key(dashboard: Dashboard, role: Role = "admin", **options: object) -> NewApiKey:
    return dashboard.server.create_key(dashboard.tenant, role, **options)


def sign_in(client: httpx.Client, key: str, **headers: str) -> httpx.Response:
    return client.post("/ui/sign-in", data={"key": key}, headers=headers)


def is_signed_in(client: httpx.Client) -> bool:
    answer = client.get(PAGE)
    assert answer.status_code in (200, 303, 403), answer.text
    if answer.status_code == 303:
        assert answer.headers["location"] == "/ui/sign-in"
    return answer.status_code != 303


def test_a_key_opens_a_session_and_is_not_in_the_cookie(
    empty_dashboard: Dashboard, visitor: httpx.Client
) -> None:
    made = new_key(empty_dashboard)
    assert not is_signed_in(visitor)
    answer = sign_in(visitor, made.key)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")
    cookie = answer.headers["set-cookie"]
    secret = visitor.cookies[cookie_of(visitor)]
    assert secret.startswith("ms_")
    assert made.key not in cookie
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "path=/ui", "samesite=lax"} <= attributes
    assert "secure" not in attributes
    (age,) = [int(each.removeprefix("max-age=")) for each in attributes if each.startswith("max-age=")]
    assert 0 < age <= 12 * 3600
    assert is_signed_in(visitor)


def test_the_cookie_is_secure_where_the_browser_uses_https(
    empty_dashboard: Dashboard, visitor: httpx.Client
) -> None:
    """A proxy speaks HTTPS to the browser and HTTP to the server; `Origin` says which it was."""
    answer = sign_in(visitor, new_key(empty_dashboard).key, Origin="https://memory.example")
    assert "; Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("key", ["", "mn_", "mn_" + "x" * 43, "ms_" + "x" * 43, "' OR 1=1 --", "x" * 5000])
def test_a_wrong_key_gets_a_page_that_says_so(visitor: httpx.Client, key: str) -> None:
    answer = sign_in(visitor, key)
    assert answer.status_code in (401, 429)
    assert answer.headers["content-type"].startswith("text/html")
    assert "alert" in answer.text
    assert "set-cookie" not in answer.headers


def test_signing_out_ends_the_session_on_the_server(
    empty_dashboard: Dashboard, visitor: httpx.Client
) -> None:
    sign_in(visitor, new_key(empty_dashboard).key)
    secret = visitor.cookies[cookie_of(visitor)]
    answer = visitor.post("/ui/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/sign-in")
    assert cookie_of(visitor) not in visitor.cookies
    visitor.cookies.set(cookie_of(visitor), secret, path="/ui")
    assert not is_signed_in(visitor)
    actions = [act.action for act in empty_dashboard.run(empty_dashboard.memory.audit.list())]
    assert actions.count("open_session") == actions.count("end_session") == 2


def test_two_servers_on_one_host_have_cookies_of_their_own(
    empty_dashboard: Dashboard, visitor: httpx.Client
) -> None:
    """Browsers send the cookies of all ports of a host to each of them."""
    sign_in(visitor, new_key(empty_dashboard).key)
    other = {"Host": "127.0.0.1:1"}
    answer = visitor.post("/ui/sign-in", data={"key": new_key(empty_dashboard).key}, headers=other)
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}_1=ms_")
    assert is_signed_in(visitor)
    visitor.cookies.delete(cookie_of(visitor))
    assert not is_signed_in(visitor)


def test_signing_in_again_ends_the_session_that_the_browser_had(
    empty_dashboard: Dashboard, visitor: httpx.Client
) -> None:
    sign_in(visitor, new_key(empty_dashboard).key)
    first = visitor.cookies[cookie_of(visitor)]
    sign_in(visitor, new_key(empty_dashboard).key)
    assert visitor.cookies[cookie_of(visitor)] != first
    assert is_signed_in(visitor)
    visitor.cookies.clear()
    visitor.cookies.set(cookie_of(visitor), first, path="/ui")
    assert not is_signed_in(visitor)


def test_a_revoked_or_expired_key_ends_its_sessions(
    empty_dashboard: Dashboard, visitor: httpx.Client, dashboard_admin: psycopg.Connection[Any]
) -> None:
    made = new_key(empty_dashboard)
    sign_in(visitor, made.key)
    assert is_signed_in(visitor)
    empty_dashboard.run(empty_dashboard.memory.keys.revoke(made.key_id))
    assert not is_signed_in(visitor)
    soon = datetime.now(UTC) + timedelta(hours=1)
    other = new_key(empty_dashboard, expires_at=soon)
    answer = sign_in(visitor, other.key)
    assert answer.status_code == 303
    assert is_signed_in(visitor)
    dashboard_admin.execute(
        "UPDATE state.api_keys SET created_at = now() - interval '2 h', expires_at = now() WHERE key_id = %s",
        [other.key_id],
    )
    assert not is_signed_in(visitor)


def test_a_session_ends_after_its_lifetime(
    empty_dashboard: Dashboard, visitor: httpx.Client, dashboard_admin: psycopg.Connection[Any]
) -> None:
    made = new_key(empty_dashboard)
    sign_in(visitor, made.key)
    dashboard_admin.execute(
        "UPDATE queue.sessions SET created_at = now() - interval '12 h', expires_at = now()"
        " WHERE key_id = %s",
        [made.key_id],
    )
    assert not is_signed_in(visitor)


def test_the_oldest_session_of_a_key_ends_when_there_are_too_many(
    empty_dashboard: Dashboard, dashboard_admin: psycopg.Connection[Any]
) -> None:
    made = new_key(empty_dashboard)
    clients = [
        httpx.Client(base_url=empty_dashboard.url, headers=SAME_ORIGIN, timeout=60, verify=TLS)
        for _ in range(SESSIONS_PER_KEY_MAX + 1)
    ]
    for client in clients:
        assert sign_in(client, made.key).status_code == 303
    assert [is_signed_in(client) for client in clients] == [False] + [True] * SESSIONS_PER_KEY_MAX
    for client in clients:
        client.close()


def test_a_session_has_the_role_and_owner_of_its_key(
    empty_dashboard: Dashboard, dashboard_admin: psycopg.Connection[Any]
) -> None:
    """They are read from the row of the key: the table of sessions has no columns for them."""
    rows = dashboard_admin.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'queue' AND table_name = 'sessions'"
    ).fetchall()
    assert {name for (name,) in rows} == {
        "tenant_id",
        "session_id",
        "key_id",
        "kind",
        "secret_hash",
        "created_at",
        "expires_at",
    }
    with empty_dashboard.client("write", "alice") as client:
        assert client.get("/ui/keys").status_code == 403
        assert client.get("/ui", follow_redirects=True).status_code in (200, 404)


def test_the_database_keeps_sessions_short(
    empty_dashboard: Dashboard, dashboard_admin: psycopg.Connection[Any]
) -> None:
    made = new_key(empty_dashboard)
    for kind, lifetime in (("session", "12 hours 1 second"), ("link", "5 minutes 1 second")):
        with pytest.raises(psycopg.errors.CheckViolation):
            dashboard_admin.execute(
                "INSERT INTO queue.sessions (tenant_id, key_id, kind, secret_hash, expires_at)"
                " SELECT tenant_id, key_id, %s, sha256('x'), now() + %s::interval"
                " FROM state.api_keys WHERE key_id = %s",
                [kind, lifetime, made.key_id],
            )


def test_only_the_hash_of_a_secret_is_stored(
    empty_dashboard: Dashboard, visitor: httpx.Client, dashboard_admin: psycopg.Connection[Any]
) -> None:
    made = new_key(empty_dashboard)
    sign_in(visitor, made.key)
    rows = dashboard_admin.execute("SELECT sessions::text FROM queue.sessions").fetchall()
    assert rows
    assert visitor.cookies[cookie_of(visitor)] not in str(rows)


def test_a_link_opens_one_session(empty_dashboard: Dashboard, visitor: httpx.Client) -> None:
    database = empty_dashboard.run(link_database(empty_dashboard))
    link = empty_dashboard.run(sessions.create_link(database, process="test"))
    assert visitor.head("/ui/sign-in", params={"link": link.secret}).status_code == 200
    answer = visitor.get("/ui/sign-in", params={"link": link.secret}, headers={"Sec-Fetch-Site": "none"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")
    assert is_signed_in(visitor)
    again = visitor.get("/ui/sign-in", params={"link": link.secret}, headers={"Sec-Fetch-Site": "none"})
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    (key,) = empty_dashboard.run(empty_dashboard.memory.keys.list())
    assert (key.name, key.role, key.owner) == ("mnemic ui", "admin", None)


async def link_database(dashboard: Dashboard) -> TenantDatabase:
    core = await dashboard.server.tenants.core(dashboard.tenant)
    return core.storage.tenant_database
