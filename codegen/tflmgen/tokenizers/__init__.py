"""Tokenizers: files of them as tables in C, with which a board makes tokens of text and text of tokens.

In: a path. Out: a Tokenizer, and the C text of its tables.
Decided here: which tokenizers are read, and the layout of their tables.
"""

from tflmgen.tokenizers.token_tables import OUR_BEGINNING, table_files
from tflmgen.tokenizers.tokenizer_file import read_tokenizer

__all__ = ["OUR_BEGINNING", "read_tokenizer", "table_files"]
