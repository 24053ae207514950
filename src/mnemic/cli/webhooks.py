"""`mnemic webhooks`: create, list, change and test webhooks, and list deliveries.

`create` and `rotate` print the secret, and nothing else, on standard output, so that it can be piped.
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

app = typer.Typer(no_args_is_help=True, help="Create, list, change and test webhooks.")

WebhookId = Annotated[str, typer.Argument(help="The id of the webhook, from `mnemic webhooks list`.")]


@app.command("list")
def list_webhooks(
    after: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Limit = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List webhooks, oldest first, without their secrets."""
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
        str, typer.Option("--from", help="Where to start: now, beginning, or after a position.")
    ] = "now",
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create a webhook for a URL and print its secret. It is shown only once."""
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
    """Give a webhook a new secret and print it. For a day the old one signs, too."""
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
        typer.Option(
            "--from", help="Where to start: now, beginning, or after a position. Default: where it stopped."
        ),
    ] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Enable a disabled webhook."""
    place = as_start(start) if start is not None else None
    enabled = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.webhooks.enable(webhook_id, start=place),
    )
    _print_changed("Enabled", enabled, json=json)


@app.command("disable")
def disable(
    webhook_id: WebhookId,
    reason: Annotated[str, typer.Option(help="Reason, shown in the list.")] = "disabled by hand",
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Disable a webhook until it is enabled again."""
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
    """Delete a webhook and the log of its deliveries."""
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
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Limit = 20,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List deliveries to a webhook and their results, newest first."""
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
    """Send a test message now. Exit code 1 if the receiver does not accept it."""
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
    listing = table(
        "id", "url", "types", "owner", "state", empty="No webhooks. `mnemic webhooks create URL` makes one."
    )
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
    listing = table(
        "id", "when (UTC)", "event", "position", "attempt", "status", "ms", "error", empty="No deliveries."
    )
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
