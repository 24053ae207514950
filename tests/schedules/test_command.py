"""`mnemic schedules`."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.conftest import Run, folder, mnemic, superuser, tenant  # noqa: F401 (fixtures)
from tests.password_server import PasswordServer
from tests.schedules.test_pg_cron import STAND_IN


def test_a_schedule_is_set_listed_paused_resumed_and_deleted(mnemic: Run) -> None:  # noqa: F811
    made = mnemic(
        *("schedules", "set", "digest", "mail.digest", "--payload", '{"to": "team"}', "--json"),
        *("--cron", "30 8 * * mon-fri", "--timezone", "Europe/Berlin"),
    )
    assert made.code == 0, made.err
    (schedule,) = made.json["schedules"]
    assert (schedule["cron"], schedule["payload"], schedule["enabled"]) == (
        "30 8 * * mon-fri",
        {"to": "team"},
        True,
    )
    listed = mnemic("schedules", "list")
    assert "(Europe/Berlin)" in listed.out
    assert "every day" in listed.out
    assert "paused" in mnemic("schedules", "pause", "digest").out
    assert "paused" not in mnemic("schedules", "resume", "digest").out
    assert mnemic("schedules", "delete", "digest").out == "Deleted: digest\n"
    gone = mnemic("schedules", "delete", "digest")
    assert gone.code == 1
    assert "There is no schedule 'digest'" in gone.said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--cron", "61 * * * *"], "'61' is no minute"),
        ([], "either --cron or --every"),
        (["--every", "60", "--payload", "[1]"], "--payload must be a JSON object"),
        (["--every", "60", "--payload", "{"], "--payload must be JSON"),
    ],
)
def test_bad_input_ends_in_one_clear_message(mnemic: Run, arguments: list[str], complaint: str) -> None:  # noqa: F811
    refused = mnemic("schedules", "set", "digest", "mail.digest", *arguments)
    assert refused.code == 1
    assert complaint in refused.said


def test_without_pg_cron_the_command_says_how_to_get_it(mnemic: Run, folder: Path) -> None:  # noqa: F811
    refused = mnemic("schedules", "pg-cron")
    assert refused.code == 1
    assert "CREATE EXTENSION pg_cron" in refused.said
    assert mnemic("schedules", "pg-cron", "--off").out == "pg_cron was not in use.\n"
    off = mnemic("schedules", "pg-cron", "--off", "--json")
    assert (off.code, off.json) == (0, {"uses_pg_cron": False, "changed": False})
    assert (mnemic("schedules", "pg-cron", "--json").out, refused.out) == ("", "")


def test_pg_cron_is_used_and_left(mnemic: Run, password_server: PasswordServer) -> None:  # noqa: F811
    name = f"pg_cron_{uuid4().hex}"
    password_server.execute(f"CREATE DATABASE {name}")
    url = password_server.url(dbname=name)
    assert mnemic("migrate", "--url", url).code == 0
    password_server.execute(STAND_IN, dbname=name)
    told = mnemic("schedules", "pg-cron", "--url", url, "--json")
    assert (told.code, told.json) == (0, {"uses_pg_cron": True}), told.err
    assert "pg_cron enqueues due jobs from now on" in mnemic("schedules", "pg-cron", "--url", url).out
    left = mnemic("schedules", "pg-cron", "--url", url, "--off", "--json")
    assert left.json == {"uses_pg_cron": False, "changed": True}
