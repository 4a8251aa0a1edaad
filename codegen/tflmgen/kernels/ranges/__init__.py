"""Transfer functions on intervals: values that an operator can give, from those that its inputs can have."""
