"""The dashboard: pages for people under `/ui`, rendered by the server, on the calls that every client has."""
