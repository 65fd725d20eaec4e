"""The pages: forms and tables over the documents of the other doors; nothing is computed here."""
