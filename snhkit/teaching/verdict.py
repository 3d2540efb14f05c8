"""The verdict on an exercise: right, not yet (with a hint), or nothing to check."""

import html
from dataclasses import dataclass

__all__ = ["Verdict"]

_SIGNS = {True: "✓ Right.", False: "✗ Not yet.", None: "… Nothing to check yet."}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict on an answer to an exercise, which a notebook shows below the cell.

    Parameters
    ----------
    right : bool or None
        Whether the answer is right; None if the exercise has not been answered.
    says : str
        The reason why the answer is right, or what is wrong with it.
    hint : str
        The hint for an answer that is not right.

    Examples
    --------
    >>> Verdict(False, "1.5 is the odds, not their logarithm.", "Take np.log of the odds.")
    ✗ Not yet. 1.5 is the odds, not their logarithm. Hint: Take np.log of the odds.
    """

    right: bool | None
    says: str
    hint: str = ""

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{_SIGNS[self.right]} {self.says}{hint}"

    def _repr_html_(self) -> str:
        colour = {True: "#00664b", False: "#a63c00", None: "#555555"}[self.right]
        hint = f" <em>Hint: {html.escape(self.hint)}</em>" if self.hint else ""
        sign = f"<strong style='color:{colour}'>{_SIGNS[self.right]}</strong>"
        return f"<div style='font-size:1.1em'>{sign} {html.escape(self.says)}{hint}</div>"
