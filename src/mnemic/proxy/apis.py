"""The APIs that the proxy speaks."""

from collections.abc import Mapping

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.chat.api import ChatApi
from mnemic.proxy.protocol import Api, ApiName
from mnemic.proxy.responses.api import ResponsesApi

APIS: Mapping[ApiName, Api] = {
    "anthropic": AnthropicApi(),
    "chat": ChatApi(),
    "responses": ResponsesApi(),
}
