"""The questions that the owner of a file answers, on the command line and in the explorer."""

QUESTIONS = {
    "file": ("1. Which file?", "Nothing is counted here, and only you see what is read."),
    "place": (
        "2. Where?",
        "The square is public: take it from a map, or from a file with a city's border, never from "
        "the records.",
    ),
    "people": (
        "3. Who may appear more than once?",
        "If a column says whose record it is, all records of a person are hidden together. Without "
        "it one record is hidden, which protects a person only if nobody appears twice.",
    ),
    "most": (
        "How many records of each?",
        "The noise grows with this number, so it is small; further records are left out, so that "
        "all counts are too low. Choose it from public knowledge, or buy it with some epsilon: "
        "only then is it estimated by how much.",
    ),
    "price": (
        "4. How much in total?",
        "The budget is all epsilon that may ever be spent on these records; a ledger beside the "
        "file adds it up. A larger epsilon gives smaller errors and hides people less.",
    ),
    "publish": (
        "What to publish?",
        "Districts are counted directly, by Tessellation, with the least noise. Boxes can be drawn "
        "anywhere by readers, and districts counted by adding up.",
    ),
}
"""The title of each question, and a text that says what it means."""

OTHERS = (
    "Budgets of other projects: A list of real-world uses of differential privacy, by Damien "
    "Desfontaines, ",
    "https://desfontain.es/blog/real-world-differential-privacy.html",
)
"""Where budgets of other projects are listed: a text and an address."""
