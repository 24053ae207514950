"""The settings of Mnemic, and the only place that reads the environment.

Each field below is the environment variable ``MNEMIC_<FIELD>``; arguments of `Memory` override it.
`docs/reference/settings.md` holds the same list for readers; a test compares both.
"""

import os
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from mnemic.errors import ConfigurationError

DEFAULT_TENANT = "default"
CAP_MAX_USD = 1_000_000_000
"""Highest spend cap."""


def _default_data_dir() -> Path:
    return user_data_path("mnemic", appauthor=False)


class Settings(BaseSettings):
    """All settings with their defaults."""

    model_config = SettingsConfigDict(env_prefix="MNEMIC_", frozen=True, extra="forbid")

    database_url: SecretStr | None = Field(
        default=None,
        description=(
            "`postgresql://…` of your own server, or `https://…` of a Mnemic server, with `MNEMIC_API_KEY`. "
            "Unset: the embedded server is used."
        ),
    )
    data_dir: Path = Field(
        default_factory=_default_data_dir,
        description="Folder of the embedded server. Unset: `mnemic` in the platform's data folder.",
    )
    api_key: SecretStr | None = Field(
        default=None, description="Key for a Mnemic server, where the URL starts with `https://`."
    )
    tenant: str = Field(
        default=DEFAULT_TENANT,
        min_length=1,
        max_length=128,
        description="Tenant to work in.",
    )
    create_tenant: bool = Field(
        default=True,
        description=(
            "Create the tenant when it is first opened; `false` makes an unknown tenant an error. "
            "Commands that only read never create one."
        ),
    )
    tenant_key: SecretStr | None = Field(
        default=None,
        description=(
            "Key that signs the tenant of each transaction, 64 hexadecimal digits. Needed only when "
            "`database_url` names a role that may not read it from the database."
        ),
    )
    owner: str | None = Field(default=None, description="Owner of calls without one.")
    channel: str = Field(default="_global", description="Channel of calls without one.")
    process: str = Field(default="sdk", description="Which part of your system writes.")
    embedder: str = Field(
        default="local",
        description=(
            "What turns text into vectors: `local`, `test`, or `provider:model` such as "
            "`openai:text-embedding-3-small`."
        ),
    )
    embedding_timeout_s: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description=(
            "Longest wait for the vectors of 64 texts that are stored, in seconds. Then the texts are stored "
            "without vectors, and a job embeds them later."
        ),
    )
    query_embedding_timeout_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description=(
            "Longest wait for the vector of a query, in seconds. Then recall searches by words, and says so."
        ),
    )
    llm: str | None = Field(
        default=None,
        description=(
            "Language model for the parts of recall that use one, as `provider:model` such as "
            "`openai:gpt-5-mini`. Unset: none is used."
        ),
    )
    llm_timeout_s: float = Field(
        default=5.0,
        gt=0,
        le=600,
        description="Longest wait for an answer of the language model during recall, in seconds.",
    )
    extractor: Literal["rules", "llm"] = Field(
        default="rules",
        description=(
            "What finds statements in turns: `rules`, which need no model, or `llm`, which sends turns to "
            "the language model."
        ),
    )
    extraction_timeout_s: float = Field(
        default=60.0,
        gt=0,
        le=3_600,
        description=(
            "Longest wait for the statements that a language model finds in 20 turns, in seconds. Then the "
            "turns are read by rules."
        ),
    )
    spend_cap_usd_per_day: Decimal | None = Field(
        default=None,
        ge=0,
        le=CAP_MAX_USD,
        description=(
            "The most that calls of language models may cost each tenant in a day, in US dollars; a tenant "
            "can set lower caps. Unset: no limit."
        ),
    )
    reranker: Literal["local", "llm"] | None = Field(
        default=None,
        description=(
            "What reranks the hits of recall: `local`, a model of the extra `reranker`, or `llm`. "
            "Unset: no reranking."
        ),
    )
    techniques: frozenset[
        Literal["vector", "text", "graph", "time", "neighbours", "expansion", "hyde", "self_query"]
    ] = Field(
        default=frozenset({"vector", "text", "graph", "time", "neighbours"}),
        description=(
            "How recall searches, as JSON: any of `vector`, `text`, `graph`, `time`, `neighbours`, and with "
            "an `llm` also `expansion`, `hyde`, `self_query`."
        ),
    )
    refuse_below: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description=(
            "Confidence below which recall refuses to answer, from 0 (never refuses) to 1. Unset: 0.25, "
            "which refuses only what is foreign; `strict` of a call refuses below 0.5."
        ),
    )
    memory_log: Literal["off", "writes", "reads", "verbose"] = Field(
        default="writes",
        description=(
            "What the memory log records: `off` nothing, `writes` calls that write, `reads` also calls that "
            "read, `verbose` also their queries and results."
        ),
    )
    worker: bool | Literal["auto"] = Field(
        default="auto",
        description=(
            "Whether an open `Memory` also runs the jobs of its tenant: `true`, `false`, or `auto`, "
            "which does so only with the embedded server."
        ),
    )
    memory_log_retention_days: int = Field(
        default=90,
        ge=1,
        le=400,
        description="How long the memory log is kept, in days. A worker's setting applies to all tenants.",
    )
    job_retention_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description=(
            "How long finished and dead jobs are kept, in days. A worker's setting applies to all tenants."
        ),
    )
    event_retention_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="How long events and the log of webhook deliveries are kept, in days.",
    )
    context_budget_tokens: int = Field(
        default=200_000,
        ge=1_000,
        le=10_000_000,
        description="Tokens that the window of an agent's model holds, for context paging.",
    )
    context_retention_days: int = Field(
        default=90,
        ge=1,
        le=36_500,
        description=(
            "How long a context session is kept after its last use, in days. Memories that it left stay."
        ),
    )
    context_levels: Literal["rules", "llm"] = Field(
        default="llm",
        description=(
            "What writes levels 1 and 2 of texts in context sessions: `llm`, which sends texts to the "
            "language model in the background if one is configured, or `rules` alone."
        ),
    )
    webhook_private_addresses: bool = Field(
        default=False,
        description=(
            "Let webhooks send to private, loopback and other addresses that only this machine or its "
            "network can reach."
        ),
    )
    document_timeout_s: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Longest time that reading one document may take, in seconds.",
    )
    document_max_memory_bytes: int = Field(
        default=1024**3,
        ge=128 * 1024**2,
        le=1024**4,
        description="Most memory that the process which reads a document may use, in bytes.",
    )
    document_max_pages: int = Field(
        default=10_000, ge=1, le=10_000_000, description="Most pages of a PDF document."
    )
    document_processes: int = Field(
        default=2,
        ge=1,
        le=1000,
        description="Most documents that are read at the same time; one tenant may use half of them.",
    )
    pool_size: int = Field(
        default=10, ge=1, le=1000, description="Maximum number of database connections of one `Memory`."
    )
    statement_timeout_s: float = Field(
        default=30.0, gt=0, le=86_400, description="Longest time one SQL statement may take, in seconds."
    )
    connect_timeout_s: float = Field(
        default=10.0, gt=0, le=3600, description="Longest wait for a connection, in seconds."
    )
    other_versions_timeout_s: float = Field(
        default=10.0,
        ge=0,
        le=86_400,
        description=(
            "How long a migration, also that of an embedded database at opening, waits for processes of "
            "other versions to close the database, in seconds."
        ),
    )
    keep_running: bool = Field(
        default=False,
        description="Keep the embedded server running after its last user; `mnemic stop` stops it.",
    )
    server_user: str | None = Field(
        default=None,
        description=(
            "OS user that runs the embedded server when Mnemic runs as root. Default: a user id of its own "
            "for each data folder."
        ),
    )
    server_settings: dict[str, str] = Field(
        default_factory=dict,
        description='PostgreSQL settings of the embedded server, as JSON: `{"shared_buffers": "1GB"}`.',
    )
    start_timeout_s: float = Field(
        default=300.0,
        gt=0,
        le=86_400,
        description="Longest wait for the embedded server, crash recovery included, in seconds.",
    )
    max_request_bytes: int = Field(
        default=8 * 1024**2,
        ge=1024,
        le=1024**3,
        description="`mnemic serve`: largest body of a request, unpacked, in bytes.",
    )
    max_batch_bytes: int = Field(
        default=1024**3,
        ge=1024,
        le=1024**4,
        description="`mnemic serve`: largest body of a `retain_many`, unpacked, in bytes.",
    )
    request_timeout_s: float = Field(
        default=60.0,
        gt=0,
        le=3600,
        description=(
            "`mnemic serve`: longest time for one request, in seconds. `retain_many` may take 10 minutes."
        ),
    )
    recall_rate_per_minute: int = Field(
        default=6_000,
        ge=0,
        le=10_000_000,
        description="`mnemic serve`: how often an API key may recall in a minute; 0 means no limit.",
    )
    tenant_recall_rate_per_minute: int = Field(
        default=30_000,
        ge=0,
        le=100_000_000,
        description=(
            "`mnemic serve`: how often all API keys of a tenant together may recall in a minute; 0 means no "
            "limit."
        ),
    )
    max_connections: int = Field(
        default=2_000,
        ge=10,
        le=1_000_000,
        description="`mnemic serve`: connections that may be open; idle ones are closed to make room.",
    )
    max_connections_per_address: int = Field(
        default=1_000,
        ge=1,
        le=1_000_000,
        description=(
            "`mnemic serve`: connections that may be open from one address. Behind a proxy, all have the "
            "address of the proxy."
        ),
    )
    max_requests_per_tenant: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="`mnemic serve`: requests that a tenant may have in progress.",
    )
    max_requests_per_key: int = Field(
        default=250,
        ge=1,
        le=1_000_000,
        description="`mnemic serve`: requests that an API key may have in progress.",
    )
    max_streams: int = Field(
        default=200,
        ge=1,
        le=100_000,
        description="`mnemic serve`: streams of events that may be open.",
    )
    max_streams_per_tenant: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="`mnemic serve`: streams of events that a tenant may have open.",
    )
    max_streams_per_key: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="`mnemic serve`: streams of events that an API key may have open.",
    )
    min_free_disk_bytes: int = Field(
        default=128 * 1024**2,
        ge=0,
        le=1024**4,
        description=(
            "`mnemic serve`: free space on the disk of the embedded server below which `/readyz` says that "
            "the server is not ready, in bytes."
        ),
    )
    metrics_public: bool = Field(
        default=False,
        description="`mnemic serve`: serve `/metrics` without authentication, not only to admin keys.",
    )
    proxy_anthropic_url: str = Field(
        default="https://api.anthropic.com",
        max_length=2048,
        description="`mnemic proxy`: where requests of the Anthropic Messages API go.",
    )
    proxy_openai_url: str = Field(
        default="https://api.openai.com",
        max_length=2048,
        description=(
            "`mnemic proxy`: where requests of the OpenAI Chat Completions and Responses APIs go, with or "
            "without `/v1` at the end."
        ),
    )
    proxy_window_tokens: int = Field(
        default=200_000,
        ge=1_000,
        le=10_000_000,
        description=(
            "`mnemic proxy`: tokens that the model's window holds; results are shortened as it fills."
        ),
    )
    proxy_opening_tokens: int = Field(
        default=600,
        ge=0,
        le=100_000,
        description=(
            "`mnemic proxy`: most tokens of recalled memories at the start of a session; 0 means none."
        ),
    )
    proxy_max_request_bytes: int = Field(
        default=64 * 1024**2,
        ge=1024,
        le=1024**3,
        description="`mnemic proxy`: largest body of a conversation, decompressed, in bytes.",
    )
    proxy_pause_s: float = Field(
        default=600.0,
        gt=0,
        le=86_400,
        description="`mnemic proxy`: longest wait for the next bytes of a provider's response, in seconds.",
    )
    proxy_max_requests: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="`mnemic proxy`: requests to providers that may be in progress.",
    )
    proxy_max_requests_per_tenant: int = Field(
        default=200,
        ge=1,
        le=100_000,
        description="`mnemic proxy`: requests to providers that a tenant may have in progress.",
    )


def loader_environment() -> dict[str, str]:
    """The variables without which Python may not start: the folders of its libraries. None is a secret."""
    names = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def load_settings(**given: Any) -> Settings:
    """Read the environment; values in `given` that are not None override it."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        # `include_input=False`: a rejected value may be a secret.
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False, include_context=False)
        )
        raise ConfigurationError(f"The settings cannot be used: {problems}.") from None
