"""The operators, a family a file: attributes, support rules, shape rule, portable kernel and traits."""
