"""The database: where it is, one session factory, and the migrations; each room owns its tables."""
