"""A table with row-level security, made for the test."""

import pytest

from tests.conftest import AppConnection

MAKE_NOTES = """
CREATE TABLE state.notes (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    id int NOT NULL,
    body text NOT NULL DEFAULT '' CHECK (body <> 'forbidden'),
    parent_id int,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, parent_id) REFERENCES state.notes
);
CALL mnemic.protect('state.notes');
"""


@pytest.fixture
def notes(admin: AppConnection) -> str:
    """The name of the table."""
    admin.execute(MAKE_NOTES)
    return "state.notes"
