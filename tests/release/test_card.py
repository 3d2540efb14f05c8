"""Cards for people and for programs."""

import hashlib
import json
from fractions import Fraction

import pytest

import snhkit as snh
from snhkit.builders import Identity
from snhkit.privacy import PrivacyUnit, Spend, epsilon_of, exact
from snhkit.release import Release
from snhkit.release.card import card_json, card_markdown, card_registry


def release(records, **changes) -> Release:
    made = snh.PrivateDataset(records, budget=1, unit="record").release(
        Identity(100), epsilon="0.2"
    )
    known = {name: getattr(made, name) for name in made.__dataclass_fields__}
    return Release(**(known | changes))


def test_the_card_for_programs_has_all_but_the_model(records):
    made = release(records)
    card = json.loads(card_json(made))
    file = made.description()
    assert "settings" not in card
    assert {name: card[name] for name in file if name != "settings"} == json.loads(
        json.dumps({name: value for name, value in file.items() if name != "settings"})
    )
    assert card["checksum"] == "sha256:" + hashlib.sha256(made.to_bytes()).hexdigest()
    assert card["neighbours"] == made.unit.sentence
    assert card["warning"] is None
    assert "the region" in card["public"]


def test_the_card_for_people_is_a_table_with_the_same_facts(records):
    made = release(records, unit=PrivacyUnit("user", 5))
    page = card_markdown(made)
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert page.startswith("# Release\n\n| | |\n|---|---|\n")
    assert [row.split(" | ")[0][2:] for row in rows] == [
        "Method", "Privacy", "Paid for", "Region", "Settings", "Public", "Versions", "Checksum",
    ]  # fmt: skip
    assert "hides all (at most 5) records of one person" in page
    assert made.checksum in page


@pytest.mark.parametrize("n_public", [False, True])
def test_the_number_of_records_is_a_public_fact_only_if_it_was_declared_so(records, n_public):
    data = snh.PrivateDataset(records, budget=1, unit="record", n_public=n_public)
    made = data.release(snh.UniformGrid(), epsilon="0.5")
    assert made.n is not None  # public, or bought with noise
    known = [f"n, the number of records: {made.n:,}"] * n_public
    assert json.loads(card_json(made))["public"][3:] == known
    assert ("the number of records" in card_markdown(made)) == n_public
    assert ("the number of records" in card_registry(made)) == n_public


def test_a_warning_is_on_both_cards(records):
    made = release(records, replayable=True)
    assert "not to publish" in card_markdown(made)
    assert "not to publish" in json.loads(card_json(made))["warning"]


def test_text_from_a_file_stays_text(records):
    evil = "<script>|[a](javascript:1)`x`\n# b\x1b[2J"
    made = release(
        records, method=evil, hyperparameters={evil: evil}, spends=(Spend(exact("0.2"), evil),)
    )
    page = card_markdown(made)
    assert not set("\x1b") & set(page)
    assert all(f"\\{c}" in page for c in "<|[`#")
    assert "<script" not in page.replace("\\<", "")
    assert len(page.splitlines()) == 12


REGISTRY = {
    "basic": {"name", "data_curators", "intended_use", "data_product_type", "data_product_region",
              "description", "publication_date", "data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters",
                     "privacy_parameters_details"},
    "deployment_model": {"model_name", "model_name_details", "actors", "release_type",
                         "release_type_details", "data_source_type", "data_source_type_details",
                         "access_type", "access_type_details"},
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip
"""The fields that the registry's schema allows; all of "basic" but the sector are required."""


def test_an_entry_for_the_registry_has_the_fields_of_its_schema(records):
    yaml = pytest.importorskip("yaml")
    made = release(records, unit=PrivacyUnit("user", 5, n_public=True), n=300)
    entry = yaml.safe_load(card_registry(made))
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    deployment = entry["deployment"]
    assert set(deployment) == set(REGISTRY)
    assert [name for part in deployment for name in set(deployment[part]) - REGISTRY[part]] == []
    assert set(deployment["basic"]) == REGISTRY["basic"] - {"data_product_sector"}
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.4}
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert "at most 5" in deployment["privacy_loss"]["privacy_unit_details"]


@pytest.mark.parametrize(("n_public", "factor"), [(False, 1), (True, 2)])
def test_an_entry_for_the_registry_with_gaussian_noise(records, n_public, factor):
    yaml = pytest.importorskip("yaml")
    budget = snh.Budget(1, delta="0.000001")
    data = snh.PrivateDataset(records, budget, unit="record", n_public=n_public)
    made = data.release(Identity(100), epsilon="0.5", delta="0.000001")
    deployment = yaml.safe_load(card_registry(made))["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    told = deployment["privacy_loss"]["privacy_parameters"]
    assert told["delta"] == "1e-06"
    assert (told["epsilon"] == 0.5) is not n_public
    if n_public:
        assert told["epsilon"] == float(epsilon_of(2 * made.rho, made.delta))
    assert told["rho"] == pytest.approx(factor * float(made.rho))
    shown = Fraction(json.loads(card_json(made))["epsilon_of_neighbours"])
    assert float(shown) == told["epsilon"]
    assert "Gaussian" in deployment["implementation"]["mechanisms"]
