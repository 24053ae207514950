"""What the tests of goals, strategies and working memory share."""

from tests.two_tenants import foreign_memory, memory, tenant_database, wide_memory  # noqa: F401 (fixtures)
