import pyarrow as pa
import pytest

from snhkit.data.counting.people import person_ids
from snhkit.errors import InputError


def of(values, kind=None, users=None):
    person, listed = person_ids("trips", pa.chunked_array([pa.array(values, kind)]), users)
    return person.tolist(), listed


@pytest.mark.parametrize(
    "values",
    [["42", " 42 ", "42.0", "42.00"], [42, 42], [42.0, 42.0], ["e\u0301", "é"], [b"a", b"a"]],
)
def test_spellings_of_an_id_are_one_person(values):
    assert len(set(of(values)[0])) == 1


@pytest.mark.parametrize("values", [["42", "042"], [1, 2], [1.5, 2.5], ["a", "A"], [True, False]])
def test_other_ids_are_other_people(values):
    assert len(set(of(values)[0])) == 2


def test_a_missing_id_is_nobody():
    assert of(["", "NULL", None, "-", " nan"])[0] == [0] * 5
    assert of([None, 3])[0][0] == 0
    assert of([float("nan"), 3.0])[0][0] == 0


def test_numbers_do_not_depend_on_the_chunk():
    assert of(["b", "a"])[0][1] == of(["a", "c", "d"])[0][0]
    assert of([7, 5])[0][0] == of([7])[0][0]
    encoded = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode()])
    assert person_ids("trips", encoded)[0].tolist() == of(["b", "a"])[0]


def test_users_are_found_by_their_ids():
    assert of(["a", "b", None], users=frozenset(["a"]))[1].tolist() == [True, False, False]
    assert of([1, 2, None], users=frozenset(["2", "x"]))[1].tolist() == [False, True, False]


@pytest.mark.parametrize("values", [[2.0**53, 1.0], [[1], [2]]])
def test_ids_that_tell_nobody_apart_are_refused(values):
    with pytest.raises(InputError):
        of(values)
