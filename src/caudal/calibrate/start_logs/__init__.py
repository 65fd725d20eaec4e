"""Start-up logs of serving engines: text to measured terms, and these beside the predicted ones."""
