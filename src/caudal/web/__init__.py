"""The pages: server-rendered, over the documents that the API answers with."""
