"""The operators, a family a file: attributes, support rules, shape rule and portable kernel."""
