"""Words that every room speaks: units, quantities, money, estimates and errors.

Other rooms import from the modules below directly; nothing here knows a GPU or a model.
"""
