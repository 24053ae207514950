"""`memory.webhooks`: addresses that events are sent to."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from mnemic.errors import DeliveryError, InvalidInputError, NotFoundError
from mnemic.events.consumers import Start, check_start
from mnemic.runtime.core import Caller
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


class AsyncWebhooks:
    """Addresses that events are sent to, signed by the Standard Webhooks scheme.

    A memory that is used for an owner makes and sees webhooks for the events of that owner; one without sees
    all of its tenant. A worker sends: `mnemic worker`, `mnemic serve`, or the one in this process.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def create(
        self,
        url: str,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> NewWebhook:
        """Send events to a URL from now on; returns the webhook and the secret, which is never shown again.

        `types` and `owner` say which events. `start` may also be "beginning" (of what is kept) or a position.
        """
        scope = self._caller.scope.narrowed(owner=owner)
        checked_types = check_event_types("types", types)
        place = check_start("start", start)
        made = await webhooks.create_webhook(
            self._caller.database,
            await self._check_address(url),
            types=checked_types,
            owner=scope.owner,
            start=place,
        )
        self._let_it_send()
        return made

    async def get(self, webhook_id: UUID | str) -> Webhook:
        """One webhook: its state, and since when it has been failing, if so."""
        return await webhooks.get_webhook(self._caller.database, webhook_id, owner=self._caller.scope.owner)

    async def list(self, *, after: UUID | str | None = None, limit: int = 100) -> Sequence[Webhook]:
        """Webhooks, the oldest first; `after` is the id of the last one on the page before."""
        return await webhooks.list_webhooks(
            self._caller.database, owner=self._caller.scope.owner, after=after, limit=limit
        )

    async def update(
        self,
        webhook_id: UUID | str,
        *,
        url: str | None = None,
        types: Sequence[EventType] | Literal["all"] | None = None,
    ) -> Webhook:
        """Give it another address, other types ("all" for every type), or both."""
        change_types = types is not None
        wanted = None if types is None or types == "all" else check_event_types("types", types)
        return await webhooks.update_webhook(
            self._caller.database,
            check_id("webhook_id", webhook_id),
            owner=self._caller.scope.owner,
            url=await self._check_address(url) if url is not None else None,
            types=wanted,
            change_types=change_types,
        )

    async def rotate(self, webhook_id: UUID | str) -> NewWebhook:
        """Give it a new secret; returns the webhook and the secret, which is never shown again.

        For a day messages are signed with the old secret, too: give the receiver the new one meanwhile.
        Rotated again within that day, only the last two secrets sign.
        """
        return await webhooks.rotate_secret(self._caller.database, webhook_id, owner=self._caller.scope.owner)

    async def enable(self, webhook_id: UUID | str, *, start: Start | None = None) -> Webhook:
        """Send again, from where it stopped, or from `start` on."""
        enabled = await webhooks.enable_webhook(
            self._caller.database,
            webhook_id,
            owner=self._caller.scope.owner,
            start=check_start("start", start) if start is not None else None,
        )
        self._let_it_send()
        return enabled

    async def disable(self, webhook_id: UUID | str, *, reason: str = "disabled by hand") -> Webhook:
        """Send nothing more, until it is enabled again."""
        checked = check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS)
        found = await self.get(webhook_id)
        async with self._caller.database.transaction() as transaction:
            await webhooks.disable_webhook(
                transaction, found.webhook_id, owner=self._caller.scope.owner, reason=checked
            )
        return await self.get(webhook_id)

    async def delete(self, webhook_id: UUID | str) -> bool:
        """Delete a webhook with its log; returns whether there was one."""
        return await webhooks.delete_webhook(
            self._caller.database, webhook_id, owner=self._caller.scope.owner
        )

    async def deliveries(
        self, webhook_id: UUID | str, *, before: UUID | str | None = None, limit: int = 100
    ) -> Sequence[WebhookDelivery]:
        """What was sent and what came of it, newest first; `before` is the id of the last one on a page."""
        found = await self.get(webhook_id)
        return await webhooks.list_deliveries(
            self._caller.database, found.webhook_id, before=before, limit=limit
        )

    async def test(self, webhook_id: UUID | str) -> WebhookDelivery:
        """Send a message of the type "webhook.test" right now; returns what came of it."""
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

    def _let_it_send(self) -> None:
        """Start the worker of this process, if it would start by itself for a job."""
        core = self._caller.core
        if core.in_process_worker.is_watching:
            core.in_process_worker.start(core.storage.database, core.tenant)

    async def _check_address(self, url: object) -> str:
        """The URL, if messages may be sent there. A name that is not known yet may become known."""
        checked = check_url(url)
        allow_private = self._caller.core.settings.webhook_private_addresses
        with suppress(DeliveryError):
            if refused := refusal(checked, await addresses_of(checked), allow_private=allow_private):
                raise InvalidInputError(f"url: {refused}.")
        return str(checked)
