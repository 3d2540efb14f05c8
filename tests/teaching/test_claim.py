"""A claim is printed if it holds, and else what is different."""

from snhkit.teaching import claim


def test_a_claim_says_one_of_two_things(capsys):
    claim(True, "It fell.", "It rose.")
    claim(False, "It fell.", "It rose.")
    assert capsys.readouterr().out.splitlines() == [
        "✓ It fell.",
        "≠ In this run it is different. It rose.",
    ]
