"""`snhkit ledger`, and how `snhkit release` spends from a ledger."""

import os

import pytest


class TestLedger:
    WORDS = ("--method", "ug", "--epsilon", "0.4", "--n-public")

    def test_the_budget_is_said_once_and_refuses_later_releases(self, run, trips, tmp_path):
        words = ["release", *trips, *self.WORDS]
        code, _, err = run(*words, "--out", "a.snh")
        assert code == 2
        assert "Create it by adding --budget E" in err
        assert run(*words, "--budget", "0.7", "--out", "a.snh")[0] == 0
        code, _, err = run(*words, "--out", "b.snh")
        assert code == 2
        assert "asked 0.4, left 0.3, short by 0.1. Nothing was looked at." in err
        assert not (tmp_path / "b.snh").exists()
        code, out, _ = run("ledger", "t.csv.ledger")
        assert code == 0
        assert out.startswith("Privacy budget: epsilon 0.7, spent 0.4, left 0.3\n")

    def test_an_earlier_release_is_replaced_only_on_request(self, run, trips, tmp_path):
        words = ["release", *trips, *self.WORDS, "--budget", "2", "--out", "a.snh"]
        assert run(*words)[0] == 0
        before = (tmp_path / "a.snh").read_bytes()
        code, _, err = run(*words)
        assert code == 2
        assert "--force replaces it. Nothing was spent." in err
        assert (tmp_path / "a.snh").read_bytes() == before
        code, _, err = run(*words, "--force")
        assert code == 0
        assert "spent 0.8, left 1.2" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.filterwarnings("default::snhkit.errors.LedgerWarning")
def test_a_warning_sends_no_commands_to_the_terminal(run, trips, tmp_path):
    words = ["release", *trips, *TestLedger.WORDS, "--budget", "1", "--out", "a.snh"]
    path = tmp_path / "a\x1b[2Jb.ledger"
    assert run(*words, "--ledger", path)[0] == 0
    path.write_bytes(path.read_bytes()[:-9])
    code, _, err = run("ledger", path)
    assert code == 0
    assert "a\ufffd[2Jb.ledger: the last line of the ledger is incomplete" in err
    assert err.replace("\n", "").isprintable()
