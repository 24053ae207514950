"""`memory.webhooks`: URLs that receive events."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from mnemic.errors import DeliveryError, InvalidInputError, NotFoundError
from mnemic.events.consumers import Start, check_start
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_id, check_text
from mnemic.types.event import EventType, check_event_types
from mnemic.types.identity import new_id
from mnemic.types.webhook import NewWebhook, Webhook, WebhookDelivery
from mnemic.webhooks import subscriptions as webhooks
from mnemic.webhooks.addresses import addresses_of, check_url, refusal
from mnemic.webhooks.delivery import send_message
from mnemic.webhooks.subscriptions import DeliveryAttempt

REASON_MAX_CHARACTERS = 1024
TEST_TYPE = "webhook.test"


class AsyncWebhooks(CallGroup):
    """URLs that receive events, signed by the Standard Webhooks scheme.

    A memory with an owner creates and sees webhooks for the events of that owner; a memory without one, for
    all events of its tenant. A worker sends the events: `mnemic worker`, `mnemic serve`, or the worker of
    this process.
    """

    @routed("webhooks.create")
    async def create(
        self,
        url: str,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> NewWebhook:
        """Send events to a URL; returns the webhook and its secret, which cannot be read again.

        `types` and `owner` select the events. `start` is "now", "beginning" (of the events that are kept) or
        a position.
        """
        scope = self._scope.narrowed(owner=owner)
        checked_types = check_event_types("types", types)
        place = check_start("start", start)
        made = await webhooks.create_webhook(
            self._caller.database,
            await self._check_address(url),
            types=checked_types,
            owner=scope.owner,
            start=place,
        )
        self._start_sending()
        return made

    @routed("webhooks.get")
    async def get(self, webhook_id: UUID | str) -> Webhook:
        """Return one webhook with its state and, if deliveries fail, the time since when."""
        return await webhooks.get_webhook(self._caller.database, webhook_id, owner=self._scope.owner)

    @routed("webhooks.list")
    async def list(self, *, after: UUID | str | None = None, limit: int = 100) -> Sequence[Webhook]:
        """Return webhooks, oldest first; `after` is the id of the last one of the previous page."""
        return await webhooks.list_webhooks(
            self._caller.database, owner=self._scope.owner, after=after, limit=limit
        )

    @routed("webhooks.update")
    async def update(
        self,
        webhook_id: UUID | str,
        *,
        url: str | None = None,
        types: Sequence[EventType] | Literal["all"] | None = None,
    ) -> Webhook:
        """Change the URL, the types ("all" for every type), or both."""
        change_types = types is not None
        wanted = None if types is None or types == "all" else check_event_types("types", types)
        return await webhooks.update_webhook(
            self._caller.database,
            check_id("webhook_id", webhook_id),
            owner=self._scope.owner,
            url=await self._check_address(url) if url is not None else None,
            types=wanted,
            change_types=change_types,
        )

    @routed("webhooks.rotate")
    async def rotate(self, webhook_id: UUID | str) -> NewWebhook:
        """Create a new secret; returns the webhook and the secret, which cannot be read again.

        For one day messages are signed with the old secret, too, so that the receiver can change over. After
        a second rotation within that day, only the last two secrets sign.
        """
        return await webhooks.rotate_secret(self._caller.database, webhook_id, owner=self._scope.owner)

    @routed("webhooks.enable")
    async def enable(self, webhook_id: UUID | str, *, start: Start | None = None) -> Webhook:
        """Send again, from where sending stopped or from `start`."""
        enabled = await webhooks.enable_webhook(
            self._caller.database,
            webhook_id,
            owner=self._scope.owner,
            start=check_start("start", start) if start is not None else None,
        )
        self._start_sending()
        return enabled

    @routed("webhooks.disable")
    async def disable(self, webhook_id: UUID | str, *, reason: str = "disabled by hand") -> Webhook:
        """Stop sending until the webhook is enabled again."""
        checked = check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS)
        found = await self.get(webhook_id)
        async with self._caller.database.transaction() as transaction:
            await webhooks.disable_webhook(
                transaction, found.webhook_id, owner=self._scope.owner, reason=checked
            )
        return await self.get(webhook_id)

    @routed("webhooks.delete")
    async def delete(self, webhook_id: UUID | str) -> bool:
        """Delete a webhook and its delivery log; returns whether it existed."""
        return await webhooks.delete_webhook(self._caller.database, webhook_id, owner=self._scope.owner)

    @routed("webhooks.deliveries")
    async def deliveries(
        self, webhook_id: UUID | str, *, before: UUID | str | None = None, limit: int = 100
    ) -> Sequence[WebhookDelivery]:
        """Return deliveries and their results, newest first; `before` is the last id of the previous page."""
        found = await self.get(webhook_id)
        return await webhooks.list_deliveries(
            self._caller.database, found.webhook_id, before=before, limit=limit
        )

    @routed("webhooks.test")
    async def test(self, webhook_id: UUID | str) -> WebhookDelivery:
        """Send a message of type "webhook.test" now and return the result."""
        found = await self.get(webhook_id)
        async with self._caller.database.transaction() as transaction:
            endpoint = await webhooks.read_endpoint(transaction, found.webhook_id)
        if endpoint is None:
            raise NotFoundError(f"The webhook {webhook_id} was deleted.")
        message = {"type": TEST_TYPE, "timestamp": datetime.now(UTC).isoformat(), "data": {}}
        result = await send_message(self._caller.core, endpoint, f"msg_{new_id().hex}", message)
        attempt = DeliveryAttempt(found.webhook_id, found.owner, None, TEST_TYPE, 1, result)
        async with self._caller.database.transaction() as transaction:
            return await webhooks.log_delivery(transaction, attempt)

    def _start_sending(self) -> None:
        """Start the worker of this process if it runs jobs on its own."""
        core = self._caller.core
        if core.in_process_worker.is_watching:
            core.in_process_worker.start(core.storage.database, core.tenant)

    async def _check_address(self, url: object) -> str:
        """The URL, if sending there is allowed. A host name that does not resolve yet is accepted."""
        checked = check_url(url)
        allow_private = self._caller.core.settings.webhook_private_addresses
        with suppress(DeliveryError):
            if refused := refusal(checked, await addresses_of(checked), allow_private=allow_private):
                raise InvalidInputError(f"url: {refused}.")
        return str(checked)
