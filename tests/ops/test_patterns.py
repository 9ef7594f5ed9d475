"""Regular expressions in graphs: RE2's, as TensorFlow 2.21 answered, in time that is linear in the text."""

import builtins

import pytest

import regrad as tf

TEXTS = [b"xabxabby", b"", b"\xc3\xa9a\xffb", b"a\nb"]
REPLACED = [  # pattern, rewrite, everywhere, once
    ("(a)b", r"\2", TEXTS, TEXTS),  # no such group
    ("(a)b", r"x\qy", [b"xxxxby", *TEXTS[1:]], TEXTS),  # a rewrite ends at a stray backslash
    ("(a)b", r"x\\y\1\0", [rb"xx\yaabxx\yaabby", *TEXTS[1:]], [rb"xx\yaabxabby", *TEXTS[1:]]),
    ("a", "\\", [b"xbxbby", b"", b"\xc3\xa9\xffb", b"\nb"], TEXTS),
    ("", "-", [b"-x-a-b-x-a-b-b-y-", b"-", b"-\xc3\xa9-a-\xff-b-", b"-a-\n-b-"], [b"-" + text for text in TEXTS]),
    ("x*", "-", [b"-a-b-a-b-b-y-", b"-", b"-\xc3\xa9-a-\xff-b-", b"-a-\n-b-"],
     [b"-abxabby", b"-", b"-\xc3\xa9a\xffb", b"-a\nb"]),
    ("b*", "-", [b"-x-a-x-a-y-", b"-", b"-\xc3\xa9-a-\xff-", b"-a-\n-"], [b"-" + text for text in TEXTS]),
    (".", "-", [b"--------", b"", b"--\xff-", b"-\n-"], [b"-abxabby", b"", b"-a\xffb", b"-\nb"]),
    ("^", "<", [b"<" + text for text in TEXTS], [b"<" + text for text in TEXTS]),
    ("$", ">", [text + b">" for text in TEXTS], [text + b">" for text in TEXTS]),
    (r"\bab", "#", TEXTS, TEXTS),
    ("a|ab", "#", [b"x#bx#bby", b"", b"\xc3\xa9#\xffb", b"#\nb"], [b"x#bxabby", b"", b"\xc3\xa9#\xffb", b"#\nb"]),
    ("(?i)AB", "#", [b"x#x#by", *TEXTS[1:]], [b"x#xabby", *TEXTS[1:]]),
    (r"\pL", "#", [b"########", b"", b"##\xff#", b"#\n#"], [b"#abxabby", b"", b"#a\xffb", b"#\nb"]),
]
MATCHED = [("a.b", [False] * 3), (".*", [True, True, False]), ("", [False, True, False]), ("a|ab", [False] * 3),
           ("(?s).*", [True, True, False]), (r"\C*", [True, True, True])]


def _run(tensor):
    with tf.Session() as sess:
        return sess.run(tensor).tolist()


@pytest.mark.parametrize("pattern, rewrite, everywhere, once", REPLACED)
def test_matches_are_replaced_as_tensorflow_replaces_them(pattern, rewrite, everywhere, once):
    assert _run(tf.regex_replace(TEXTS, pattern, rewrite)) == everywhere
    assert _run(tf.regex_replace(TEXTS, pattern, rewrite, replace_global=False)) == once


@pytest.mark.parametrize("pattern, matches", MATCHED)
def test_whole_strings_match_as_in_tensorflow(pattern, matches):
    assert _run(tf.strings.regex_full_match(TEXTS[:3], pattern)) == matches


def test_a_pattern_that_costs_backtracking_engines_exponential_time_ends():
    text = b"a" * 10_000 + b"b"
    assert _run(tf.strings.regex_full_match([text], "(a+)+")) == [False]
    assert _run(tf.regex_replace([text], "(a|a)*c", "")) == [text]


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    def missing(name, *args):
        if name == "re2":
            raise ModuleNotFoundError(name)
        return imported(name, *args)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(tf.errors.UnimplementedError, match="pip install google-re2"):
        _run(tf.regex_replace(["a"], "a", "b"))
