"""`tf.strings`: byte strings, by TF1's names."""

from regrad.ops.hashing import string_to_hash_bucket as to_hash_bucket
from regrad.ops.hashing import string_to_hash_bucket_fast as to_hash_bucket_fast
from regrad.ops.hashing import string_to_hash_bucket_strong as to_hash_bucket_strong
from regrad.ops.strings import (
    as_string,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    substr,
)
from regrad.ops.strings import string_format as format
from regrad.ops.strings import string_join as join
from regrad.ops.strings import string_length as length
from regrad.ops.strings import string_lower as lower
from regrad.ops.strings import string_strip as strip
from regrad.ops.strings import string_to_number as to_number
from regrad.ops.strings import string_upper as upper

__all__ = ["as_string", "format", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace", "split",
           "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong", "to_number", "upper"]
