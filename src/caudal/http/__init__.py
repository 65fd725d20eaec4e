"""The JSON API: parse, call one function of a room, answer with the documents of the commands."""
