"""The tools for language models: the commands' questions, with answers short enough to read."""
