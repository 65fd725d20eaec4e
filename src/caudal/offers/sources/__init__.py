"""Where offers come from: price lists and quote sheets, one file a source, all read only."""
