"""The words of the museum network: vocabulary, places, materials and parts of names. All of it is fictional."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ADJECTIVES",
    "CLASSES",
    "CURATOR_NAMES",
    "FIRST_NAMES",
    "KINDS",
    "LAST_NAMES",
    "MATERIALS",
    "MUSEUMS",
    "PROPERTIES",
    "REGIONS",
    "THEMES",
    "Kind",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of objects: how often it is drawn, what its objects are called and made of."""

    weight: int
    nouns: tuple[str, ...]
    materials: tuple[str, ...]


# Name, superclass, label.
CLASSES: tuple[tuple[str, str, str], ...] = (
    ("Place", "", "place"),
    ("Region", "Place", "region"),
    ("Town", "Place", "town"),
    ("Museum", "", "museum"),
    ("Person", "", "person"),
    ("Artist", "Person", "artist"),
    ("Curator", "Person", "curator"),
    ("Object", "", "museum object"),
    ("Picture", "Object", "picture"),
    ("Painting", "Picture", "painting"),
    ("Print", "Picture", "print"),
    ("Sculpture", "Object", "sculpture"),
    ("Vessel", "Object", "vessel"),
    ("Textile", "Object", "textile"),
    ("Clock", "Object", "clock"),
    ("Material", "", "material"),
    ("Exhibition", "", "exhibition"),
    ("Loan", "", "loan"),
    ("Inspection", "", "inspection, always a blank node"),
)

# Name, domain, range, label.
PROPERTIES: tuple[tuple[str, str, str, str], ...] = (
    ("inRegion", "Town", "Region", "lies in region"),
    ("population", "Town", "xsd:integer", "number of inhabitants"),
    ("inTown", "Museum", "Town", "stands in town"),
    ("founded", "Museum", "xsd:integer", "year of foundation"),
    ("branchOf", "Museum", "Museum", "is a branch of"),
    ("name", "Person", "xsd:string", "full name"),
    ("born", "Artist", "xsd:integer", "year of birth"),
    ("died", "Artist", "xsd:integer", "year of death"),
    ("pupilOf", "Artist", "Artist", "was a pupil of"),
    ("worksAt", "Curator", "Museum", "works at"),
    ("kindOf", "Material", "Material", "is a kind of"),
    ("number", "Object", "xsd:string", "inventory number"),
    ("heldBy", "Object", "Museum", "is held by"),
    ("madeBy", "Object", "Artist", "was made by"),
    ("madeOf", "Object", "Material", "is made of"),
    ("year", "Object", "xsd:integer", "year of making"),
    ("weight", "Object", "xsd:decimal", "weight in kilograms"),
    ("acquired", "Object", "xsd:date", "date of acquisition"),
    ("insured", "Object", "xsd:integer", "sum insured"),
    ("inspected", "Object", "Inspection", "has inspection"),
    ("grade", "Inspection", "xsd:integer", "grade of condition, 1 (good) to 5 (bad)"),
    ("on", "Inspection", "xsd:date", "date of inspection"),
    ("hostedBy", "Exhibition", "Museum", "is hosted by"),
    ("curatedBy", "Exhibition", "Curator", "is curated by"),
    ("opened", "Exhibition", "xsd:date", "opening date"),
    ("visitors", "Exhibition", "xsd:integer", "number of visitors"),
    ("rating", "Exhibition", "xsd:double", "mean rating by visitors"),
    ("shows", "Exhibition", "Object", "shows"),
    ("item", "Loan", "Object", "lent object"),
    ("borrower", "Loan", "Museum", "borrowing museum"),
    ("start", "Loan", "xsd:date", "start of the loan"),
    ("end", "Loan", "xsd:date", "end of the loan; missing while it lasts"),
)

REGIONS: Mapping[str, tuple[str, ...]] = {
    "Marrowmark": ("Greyhollow", "Tarnwick", "Little Ossen", "Vellmouth"),
    "Upper Sarn": ("Sarnbridge", "Coldharrow", "Penmere"),
    "Isles of Wend": ("Wendhaven", "Skarra", "Gullsound", "Low Ebb"),
    "Brackland": ("Brackstead", "Holmfirst", "Ravensey"),
    "Dunmere": ("Dunmere Cross", "Aldersham", "Foxley Ford"),
    "Vale of Ister": ("Isterburn", "Quillon", "Mosswater"),
}

# Name, town, the museum that it is a branch of, labels in other languages.
MUSEUMS: tuple[tuple[str, str, str, Mapping[str, str]], ...] = (
    ("Sarn National Museum", "Sarnbridge", "", {"de": "Nationalmuseum Sarn", "fr": "Musée national de Sarn"}),
    ("Wend Gallery", "Wendhaven", "", {"de": "Wend-Galerie"}),
    ("Greyhollow Museum of Craft", "Greyhollow", "", {"fr": "Musée des métiers de Greyhollow"}),
    ("Brackstead Hall", "Brackstead", "", {}),
    ("House of Clocks", "Isterburn", "", {"de": "Haus der Uhren", "fr": "Maison des horloges"}),
    ("Vellmouth Sea Museum", "Vellmouth", "Greyhollow Museum of Craft", {"de": "Meeresmuseum Vellmouth"}),
    ("Sarn Print Room", "Sarnbridge", "Sarn National Museum", {"de": "Kupferstichkabinett Sarn"}),
    ("Aldersham Gallery", "Aldersham", "", {}),
    ("Quillon Textile House", "Quillon", "House of Clocks", {"fr": "Maison du textile de Quillon"}),
    ("Penmere Museum", "Penmere", "Sarn National Museum", {}),
    ("Skarra Collection", "Skarra", "Wend Gallery", {"de": "Sammlung Skarra"}),
    ("Ravensey Fort Museum", "Ravensey", "Brackstead Hall", {}),
    ("Coldharrow Glass Museum", "Coldharrow", "Penmere Museum", {"de": "Glasmuseum Coldharrow"}),
    ("Mosswater Mill", "Mosswater", "Quillon Textile House", {}),
    ("Gullsound Museum", "Gullsound", "Skarra Collection", {"fr": "Musée de Gullsound"}),
    ("Tarnwick Town Museum", "Tarnwick", "Greyhollow Museum of Craft", {}),
    ("Dunmere Abbey Museum", "Dunmere Cross", "Aldersham Gallery", {}),
    ("Foxley Print Cabinet", "Foxley Ford", "Dunmere Abbey Museum", {}),
    ("Holmfirst Museum", "Holmfirst", "Brackstead Hall", {}),
    ("Ossen Toy Clock Museum", "Little Ossen", "Tarnwick Town Museum", {"de": "Spieluhrenmuseum Ossen"}),
    ("Low Ebb Lighthouse Museum", "Low Ebb", "Gullsound Museum", {}),
    ("Sarnbridge Gallery of Stone", "Sarnbridge", "Sarn National Museum", {}),
)

MATERIALS: Mapping[str, tuple[str, ...]] = {
    "metal": ("bronze", "iron", "silver", "brass"),
    "wood": ("oak", "limewood", "walnut"),
    "stone": ("marble", "slate", "basalt"),
    "fibre": ("wool", "silk", "linen"),
    "clay": ("earthenware", "stoneware", "porcelain"),
    "sheet": ("paper", "canvas", "parchment"),
    "glass": ("crystal glass", "green glass"),
}

KINDS: Mapping[str, Kind] = {
    "Painting": Kind(22, ("Harbour View", "Portrait", "Winter Road", "Still Life"), ("canvas", "oak", "paper")),
    "Print": Kind(25, ("Bird Study", "Town Plan", "Night Piece"), ("paper", "parchment")),
    "Sculpture": Kind(11, ("Rider", "Heron", "Head", "Relief"), ("bronze", "marble", "limewood", "slate", "basalt")),
    "Vessel": Kind(
        24,
        ("Bowl", "Jug", "Beaker", "Lidded Jar"),
        ("earthenware", "stoneware", "porcelain", "silver", "crystal glass", "green glass"),
    ),
    "Textile": Kind(12, ("Wall Hanging", "Banner", "Shawl"), ("wool", "silk", "linen")),
    "Clock": Kind(6, ("Table Clock", "Tower Clock", "Travelling Clock"), ("brass", "iron", "walnut", "silver")),
}

ADJECTIVES = (
    "Blue",
    "Broken",
    "Gilded",
    "Great",
    "Grey",
    "Little",
    "Northern",
    "Old",
    "Plain",
    "Red",
    "Twin",
    "Unfinished",
)
THEMES = (
    "Fire and Clay",
    "Hours",
    "Ink",
    "Lost Coasts",
    "Rooms of Light",
    "The Long Thread",
    "Travellers",
    "Under Snow",
)
FIRST_NAMES = (
    *("Abel", "Berit", "Cato", "Dagny", "Edda", "Florin", "Greta", "Hanno", "Ione", "Jory", "Katla", "Ludo", "Mirelle"),
    *("Nils", "Orla", "Petra", "Quirin", "Rosalba", "Sander", "Thora", "Ulric", "Vanja", "Wiebke", "Ysolde", "Zeno"),
)
LAST_NAMES = (
    *("Ambrose", "Birkett", "Calloway", "Drave", "Eckhorn", "Fallow", "Garrick", "Hollin", "Ingram", "Jessop"),
    *("Kestrel", "Larkspur", "Mallory", "Norrgard", "Ostrander", "Pemberly", "Quist", "Rookwood", "Sallow", "Thistle"),
    *("Underhill", "Vantongeren", "Wexley", "Yarrow", "Zimmerli"),
)
CURATOR_NAMES = ("Alder", "Bellweather", "Crane", "Dorn", "Elmet", "Finch", "Graves", "Heath", "Isley", "Juniper")
