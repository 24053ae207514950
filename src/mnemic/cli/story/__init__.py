"""The story of `mnemic demo --ui`: a year of four owners, as data, and what stores it."""
