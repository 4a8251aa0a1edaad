"""Which values an operator can give, from those that its inputs can have: transfer functions on intervals."""
