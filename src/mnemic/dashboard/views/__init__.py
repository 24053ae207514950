"""One module per page: what it reads and what its forms change. `mnemic.dashboard.pages` lists them."""
