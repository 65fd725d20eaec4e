"""What every door answers: one document a question, made once for terminal, HTTP and pages."""
