"""Attacks on sessions of the dashboard: planted secrets, other sites, links, floods, other owners."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.routing import Route

from mnemic.dashboard.app import mount_dashboard
from mnemic.dashboard.page_list import PAGES
from mnemic.db.database import Database
from mnemic.errors import ForbiddenError
from mnemic.govern import keys, sessions
from mnemic.govern.keys import AuthenticatedKey
from mnemic.govern.sessions import NewLink
from mnemic.sdk.http.surface import ROUTES
from mnemic.server.app import ServerApp
from mnemic.server.browser_sessions import FAILED_SIGN_INS_PER_MINUTE, check_own_visit
from mnemic.types.key import NewApiKey, allows
from tests.attacks.http_server import MCP_BODY, MCP_HEADERS, new_key, with_mcp
from tests.running_folder import running
from tests.server.running import RunningServer, cookie_of, running_server

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
SECRET = "Bob keeps his diary under the pillow."


def with_everything(server_app: ServerApp) -> None:
    with_mcp(server_app)
    mount_dashboard(server_app)


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "session-attacks")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running_server(folder, prepare=with_everything) as server:
        yield server


@pytest.fixture
def admin_key(server: RunningServer) -> NewApiKey:
    return new_key(server, "admin")


@pytest.fixture
def browser(server: RunningServer) -> Iterator[httpx.Client]:
    """A browser that says where its requests come from; redirects are not followed."""
    with server.client() as client:
        yield client


def sign_in(browser: httpx.Client, key: NewApiKey) -> str:
    """Sign in; returns the secret of the session."""
    answer = browser.post("/ui/sign-in", data={"key": key.key}, headers=SAME_ORIGIN)
    assert answer.status_code == 303, answer.text
    return browser.cookies[cookie_of(browser)]


def is_signed_in(browser: httpx.Client, **options: Any) -> bool:
    answer = browser.get("/ui", **options)
    assert answer.status_code == 303
    return answer.headers["location"] != "/ui/sign-in"


def new_link(server: RunningServer) -> NewLink:
    async def create() -> NewLink:
        core = await server.tenants.core("links")
        return await sessions.create_link(core.storage.tenant_database, process="attack")

    return server.run(create())


def test_a_session_opens_no_api(server: RunningServer, admin_key: NewApiKey, browser: httpx.Client) -> None:
    """Neither its secret as a bearer token nor its cookie; and a link opens neither."""
    secret = sign_in(browser, admin_key)
    for token in (secret, new_link(server).secret):
        bearer = {"Authorization": f"Bearer {token}"}
        cookie = {"Cookie": f"{cookie_of(browser)}={token}"}
        for headers in (bearer, cookie, {"Cookie": f"Authorization=Bearer {token}"}):
            assert browser.get("/v1/whoami", headers=headers).status_code == 401
            assert browser.post("/v1/recall", headers=headers, json={"query": "x"}).status_code == 401
            assert browser.get("/v1/events/stream", headers=headers).status_code == 401
            answer = browser.post("/mcp", content=MCP_BODY, headers=MCP_HEADERS | headers)
            assert answer.status_code == 401
    assert browser.get("/metrics", headers={"Cookie": f"{cookie_of(browser)}={secret}"}).status_code == 401


def test_an_api_key_or_a_link_is_no_cookie(
    server: RunningServer, admin_key: NewApiKey, browser: httpx.Client
) -> None:
    for secret in (admin_key.key, new_link(server).secret, "ms_" + "x" * 43, "", "x" * 4000, "ms_'--"):
        assert not is_signed_in(browser, headers={"Cookie": f"{cookie_of(browser)}={secret}"})
    bearer = {"Authorization": f"Bearer {admin_key.key}"}
    assert not is_signed_in(browser, headers=bearer)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin, cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "HOST"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "HOST.evil.example"},
        {"Origin": "http://evil.example/HOST"},
        {"Referer": "HOST/ui/keys"},
        {},
    ],
)
def test_no_other_site_can_send_a_form(
    server: RunningServer, admin_key: NewApiKey, browser: httpx.Client, headers: dict[str, str]
) -> None:
    sign_in(browser, admin_key)
    sent = {name: value.replace("HOST", server.url) for name, value in headers.items()}
    paths = [path for route in server.server_app.app.routes for path in form_of_the_dashboard(route)]
    assert {"/ui/sign-in", "/ui/sign-out", "/ui/keys", "/ui/keys/revoke"} <= set(paths)
    for path in paths:
        answer = browser.post(
            path, data={"key": admin_key.key, "key_id": str(admin_key.key_id)}, headers=sent
        )
        assert answer.status_code == 403, path
        assert answer.headers["content-type"].startswith("text/html")
        assert "set-cookie" not in answer.headers
    assert is_signed_in(browser)


def form_of_the_dashboard(route: object) -> list[str]:
    """The path of a route that takes a form of the dashboard; nothing for others."""
    if not isinstance(route, Route) or "POST" not in (route.methods or ()):
        return []
    return [route.path.replace("{", "").replace("}", "")] if route.path.startswith("/ui/") else []


def test_two_headers_that_contradict_each_other_are_refused(
    admin_key: NewApiKey, browser: httpx.Client
) -> None:
    sign_in(browser, admin_key)
    headers = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
    assert browser.post("/ui/sign-out", headers=headers).status_code == 403


def test_where_browsers_do_not_name_the_site_the_origin_decides(
    server: RunningServer, admin_key: NewApiKey, browser: httpx.Client
) -> None:
    """Plain HTTP to another machine: browsers send `Origin` only."""
    answer = browser.post("/ui/sign-in", data={"key": admin_key.key}, headers={"Origin": server.url})
    assert answer.status_code == 303


def test_a_planted_secret_never_becomes_a_session(
    server: RunningServer, admin_key: NewApiKey, browser: httpx.Client
) -> None:
    planted = "ms_" + "p" * 43
    answer = browser.post(
        "/ui/sign-in",
        data={"key": admin_key.key},
        headers={**SAME_ORIGIN, "Cookie": f"{cookie_of(browser)}={planted}"},
    )
    assert answer.status_code == 303
    secret = browser.cookies[cookie_of(browser)]
    assert secret != planted
    browser.cookies.clear()
    assert not is_signed_in(browser, headers={"Cookie": f"{cookie_of(browser)}={planted}"})
    # With two cookies, nobody else's session is taken for the visitor's, whichever comes first.
    own, other = f"{cookie_of(browser)}={secret}", f"{cookie_of(browser)}={planted}"
    for pair in (f"{other}; {own}", f"{own}; {other}"):
        assert not is_signed_in(browser, headers={"Cookie": pair})
    assert is_signed_in(browser, headers={"Cookie": f"{cookie_of(browser)}={secret}"})


def test_a_link_opens_one_session_however_many_use_it_at_once(server: RunningServer) -> None:
    link = new_link(server)

    def use(_: int) -> int:
        with server.client() as browser:
            return browser.get("/ui/sign-in", params={"link": link.secret}).status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = sorted(threads.map(use, range(8)))
    assert statuses == [303] + [401] * 7


def test_looking_ahead_uses_no_link_up(server: RunningServer, browser: httpx.Client) -> None:
    link = new_link(server)
    for headers in ({"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}):
        answer = browser.get("/ui/sign-in", params={"link": link.secret}, headers=headers)
        assert answer.status_code == 403
    assert browser.head("/ui/sign-in", params={"link": link.secret}).status_code == 200
    assert browser.get("/ui/sign-in", params={"link": link.secret}).status_code == 303


def test_a_link_ends_with_its_key(server: RunningServer, browser: httpx.Client) -> None:
    link = new_link(server)
    server.run(server.memory("links").keys.revoke(link.key_id))
    assert browser.get("/ui/sign-in", params={"link": link.secret}).status_code == 401


def test_a_link_works_on_the_machine_of_the_server_only() -> None:
    for address in ("203.0.113.9", "10.0.0.1", "::ffff:203.0.113.9", "fe80::1%eth0", ""):
        scope = {"type": "http", "headers": [], "client": (address, 1234)}
        with pytest.raises(ForbiddenError):
            check_own_visit(Request(scope))
    check_own_visit(Request({"type": "http", "headers": [], "client": ("127.0.0.1", 1234)}))


def test_a_flood_of_wrong_keys_stays_cheap(
    folder: Path, admin_key: NewApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered without the database, and sessions that are open go on."""
    count, find = 0, keys.find

    async def counted(database: Database, secret: str) -> AuthenticatedKey:
        nonlocal count
        count += 1
        return await find(database, secret)

    with (
        running_server(folder, prepare=with_everything) as server,
        server.client() as visitor,
        server.client() as attacker,
    ):
        sign_in(visitor, admin_key)
        monkeypatch.setattr(keys, "find", counted)
        statuses = [
            attacker.post(
                "/ui/sign-in", data={"key": "mn_" + str(n).zfill(43)}, headers=SAME_ORIGIN
            ).status_code
            for n in range(3 * FAILED_SIGN_INS_PER_MINUTE)
        ]
        assert set(statuses) == {401, 429}
        assert statuses.count(401) == count < len(statuses) / 2
        assert is_signed_in(visitor)


def test_a_bound_session_sees_no_other_owner(
    server: RunningServer, browser: httpx.Client, subtests: pytest.Subtests
) -> None:
    tenant = "two owners"
    memory = server.memory(tenant)
    for owner, content in (("bob", SECRET), ("alice", "Alice has a diary, too.")):
        server.run(memory.retain(content, owner=owner, conversation="diary"))
    sign_in(browser, server.create_key(tenant, "write", owner="alice"))
    for path in [view.path for page in PAGES for view in page.views if view.method == "GET"]:
        if "{" in path or path == "/events/stream":
            continue
        with subtests.test(path):
            own = browser.get(f"/ui{path}")
            foreign = browser.get(f"/ui{path}", params={"owner": "bob", "q": "diary"})
            assert SECRET not in own.text + foreign.text
            assert foreign.status_code == 403


def test_a_session_sends_no_form_that_its_role_does_not_allow(
    server: RunningServer, subtests: pytest.Subtests
) -> None:
    for role, owner in (("read", None), ("write", None), ("write", "alice")):
        key = new_key(server, "read" if role == "read" else "write", owner=owner)
        with server.client() as browser:
            sign_in(browser, key)
            for view in [view for page in PAGES for view in page.views if view.method == "POST"]:
                route = ROUTES[view.call]
                if allows(key.role, route.role) and not (owner and route.reach == "tenant"):
                    continue
                with subtests.test(f"{role} {owner} {view.path}"):
                    path = view.path.replace("{", "").replace("}", "")
                    answer = browser.post(f"/ui{path}", headers=SAME_ORIGIN, data={"x": "y"})
                    assert answer.status_code == 403
                    assert answer.headers["content-type"].startswith("text/html")


def test_changes_are_audited_without_names(
    server: RunningServer, admin_key: NewApiKey, browser: httpx.Client
) -> None:
    """By the key of the session and the request; the target is a template, so it has no names and ids."""

    async def act() -> None:
        found = await server.server_app.authenticator.find(admin_key.key)
        memory = await server.server_app.authenticator.guarded_memory_of(
            found, "request-7", action="dashboard_call", audits_from="write"
        )
        stored = await memory.retain("Mallory was here.", owner="Zebedee")
        await memory.scope(owner="Zebedee").memories.forget(stored.stored[0].memory_id)
        await memory.memories.list(owner="Zebedee")
        with pytest.raises(ForbiddenError):
            await memory.admin.backup("unused")
        acts = await memory.audit.operations(action="dashboard_call")
        assert [(act.target, act.outcome, act.owner) for act in acts] == [
            ("POST /v1/memories/{memory_id}/forget", "succeeded", None),
            ("POST /v1/memories", "succeeded", None),
        ]
        for each in acts:
            assert each.detail == {"key_id": str(admin_key.key_id), "request_id": "request-7"}
            assert "Zebedee" not in str(each)

    server.run(act())
