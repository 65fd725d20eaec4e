"""Run by Alembic: applies the scripts on the connection that `sessions` gives."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, render_as_batch=True)
context.run_migrations()
