"""The OpenAI Responses API, with the whole conversation in each request or with `previous_response_id`.

reading.py    the conversation of a request
rewriting.py  the body for the provider
turns.py      which items of a request are a turn that an exchange replaces
relay.py      what the client sees of the provider's responses
message_events.py  a message of the proxy itself
response.py   one response of the provider, streamed or whole
items.py      items: their types, text, calls and results
stored.py     responses that the provider stores, under the ids that the client knows
"""
