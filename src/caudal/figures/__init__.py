"""Values of the rooms as charts: Vega-Lite specifications in one style, and how they are drawn."""
