"""How fast one step is: prefill and decode seconds, from roofline and calibrated efficiency."""
