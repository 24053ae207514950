"""`mnemic webhooks`: addresses that events are sent to, and what came of sending them.

The secret goes to standard output once, when it is made or rotated, and nothing else does, so that it can be
piped where it belongs.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.events_options import Limit, Types, as_start, shown_moment, shown_types
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.errors import NotFoundError
from mnemic.types.event import EventType
from mnemic.types.webhook import NewWebhook, Webhook, WebhookDelivery

app = typer.Typer(no_args_is_help=True, help="Webhooks: addresses that events are sent to.")

WebhookId = Annotated[str, typer.Argument(help="The id of the webhook, from `mnemic webhooks list`.")]


@app.command("list")
def list_webhooks(
    after: Annotated[str | None, typer.Option(help="The last id of the page before.")] = None,
    limit: Limit = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List webhooks, the oldest first; never their secrets."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.list(after=after, limit=limit),
    )
    if json:
        print_json([asdict(webhook) for webhook in found])
    else:
        _print_webhooks(found)


@app.command("create")
def create(
    to: Annotated[str, typer.Argument(help="The http:// or https:// URL that events are sent to.")],
    type: Types = None,
    start: Annotated[
        str, typer.Option("--from", help="Where to begin: now, beginning, or behind a position.")
    ] = "now",
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Send events to a URL from now on, and show the secret this once."""
    types, place = cast("list[EventType] | None", type), as_start(start)
    made = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False, creates_tenant=True),
        lambda memory: memory.webhooks.create(to, types=types, start=place),
    )
    _print_secret("Made", made, json=json)


@app.command("rotate")
def rotate(
    webhook_id: WebhookId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Give a webhook a new secret, and show it this once; for a day the old one signs, too."""
    rotated = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.rotate(webhook_id),
    )
    _print_secret("Rotated", rotated, json=json)


@app.command("enable")
def enable(
    webhook_id: WebhookId,
    start: Annotated[
        str | None,
        typer.Option("--from", help="now, beginning, or behind a position; where it stopped unless given."),
    ] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Send to a webhook again."""
    place = as_start(start) if start is not None else None
    enabled = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.enable(webhook_id, start=place),
    )
    _print_changed("Enabled", enabled, json=json)


@app.command("disable")
def disable(
    webhook_id: WebhookId,
    reason: Annotated[str, typer.Option(help="Why; it is shown in the list.")] = "disabled by hand",
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Send nothing more to a webhook until it is enabled again."""
    disabled = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.disable(webhook_id, reason=reason),
    )
    _print_changed("Disabled", disabled, json=json)


@app.command("delete")
def delete(
    webhook_id: WebhookId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a webhook with the log of what was sent to it."""
    memory = memory_from(url, data_dir, tenant, owner=owner, worker=False)
    if not run_call(memory, lambda memory: memory.webhooks.delete(webhook_id)):
        raise NotFoundError(f"There is no webhook {webhook_id}. `mnemic webhooks list` shows what there is.")
    if json:
        print_json({"deleted": webhook_id})
    else:
        print_line(f"Deleted: {webhook_id}")


@app.command("deliveries")
def deliveries(
    webhook_id: WebhookId,
    before: Annotated[str | None, typer.Option(help="The last id of the page before.")] = None,
    limit: Limit = 20,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List what was sent to a webhook and what came of it, newest first."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.deliveries(webhook_id, before=before, limit=limit),
    )
    if json:
        print_json([asdict(delivery) for delivery in found])
    else:
        _print_deliveries(found)


@app.command("test")
def send_test(
    webhook_id: WebhookId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Send a message of the type "webhook.test" right now; exit 1 if the receiver does not take it."""
    delivery = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.test(webhook_id),
    )
    if json:
        print_json(asdict(delivery))
    else:
        _print_deliveries([delivery])
    if delivery.error is not None:
        raise typer.Exit(1)


def _print_secret(what: str, made: NewWebhook, *, json: bool) -> None:
    if json:
        print_json(asdict(made))
        return
    print_line(made.secret)
    remark(f"{what}: webhook {made.webhook.webhook_id}. Its secret is shown only now.")
    if (until := made.webhook.previous_secret_until) is not None:
        remark(f"Messages are signed with the old one, too, until {shown_moment(until)} UTC.")


def _print_changed(what: str, webhook: Webhook, *, json: bool) -> None:
    if json:
        print_json(asdict(webhook))
    else:
        print_line(f"{what}: {one_line(webhook.url)} ({webhook.webhook_id})")


def _print_webhooks(found: Sequence[Webhook]) -> None:
    listing = table("id", "url", "types", "owner", "state")
    for webhook in found:
        listing.add_row(
            str(webhook.webhook_id),
            Text(one_line(webhook.url)),
            shown_types(webhook.types),
            Text(one_line(webhook.owner or "everybody")),
            Text(_condition(webhook)),
        )
    out.print(listing)


def _condition(webhook: Webhook) -> str:
    if webhook.disabled_reason is not None:
        return f"disabled: {one_line(webhook.disabled_reason)}"
    if webhook.failing_since is not None:
        return f"failing since {shown_moment(webhook.failing_since)}"
    return webhook.state


def _print_deliveries(found: Sequence[WebhookDelivery]) -> None:
    listing = table("id", "when (UTC)", "event", "position", "attempt", "status", "ms", "error")
    for delivery in found:
        listing.add_row(
            str(delivery.delivery_id),
            shown_moment(delivery.at),
            delivery.event_type,
            str(delivery.event_position or ""),
            str(delivery.attempt),
            str(delivery.status_code or ""),
            f"{delivery.duration_ms:.0f}",
            Text(one_line(delivery.error or "")),
        )
    out.print(listing)
