"""Tokenizers: files of them as tables in C, with which a board makes tokens of text and text of tokens.

In: a path. Out: a Tokenizer, and the C text of its tables.
Decided here: which tokenizers are read, and the layout of their tables.
"""

from tflmgen.tokenizers.token_tables import table_files
from tflmgen.tokenizers.tokenizer_file import read_tokenizer

__all__ = ["read_tokenizer", "table_files"]
