import threading

import pytest

from snhkit import progress
from snhkit.progress import Step, steps, watched


def work(total=3):
    with steps(total, "work") as advance:
        for _ in range(total):
            advance()


def test_a_bar_is_shown_where_nobody_watches(monkeypatch):
    bars = []

    class Bar(progress.tqdm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs, file=None)
            bars.append(self)

    monkeypatch.setattr(progress, "tqdm", Bar)
    with steps(5, "work", "turn") as advance:
        advance()
        advance(3, loss="low")
    (bar,) = bars
    assert (bar.n, bar.total, bar.desc, bar.unit, bar.postfix) == (
        4, 5, "work", "turn", "loss=low",
    )  # fmt: skip


def test_who_watches_is_told_instead(monkeypatch, capsys):
    heard = []
    with watched(heard.append):
        work(2)
    assert heard == [Step("work", 0, 2), Step("work", 1, 2), Step("work", 2, 2)]
    assert capsys.readouterr().err == ""


def test_who_watches_may_stop_the_work_and_is_then_gone():
    def stop(step):
        if step.done == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError), watched(stop):
        work()
    work()


def test_another_threads_work_is_not_watched():
    heard = []
    with watched(heard.append):
        other = threading.Thread(target=work)
        other.start()
        other.join()
    assert heard == []
