"""What the build keeps, and how long."""

import os
from pathlib import Path

import pytest

from pointsman_image import kept
from pointsman_image.kept import Cache, NotKept


def test_a_thing_is_made_once_and_anew_where_that_failed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    made: list[Path] = []

    def fail(place: Path) -> None:
        (place / "half").touch()
        raise NotKept

    with pytest.raises(NotKept):
        cache.folder("thing", kept.recipe("a"), fail)
    places = [cache.folder("thing", kept.recipe("a"), made.append) for _ in range(2)]

    assert places[0] == places[1]
    assert made == places[:1]
    assert list(places[0].iterdir()) == []


def test_two_of_a_kind_are_kept_whatever_there_is_of_another(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    made: list[Path] = []
    for word in ("first", "second", "third"):
        for kind in ("examples-wheels", "examples"):
            place = cache.folder(kind, kept.recipe(word), lambda _: None)
            os.utime(place.parent / "complete", (len(made), len(made)))
            made.append(place)

    assert [place.is_dir() for place in made] == [False, False, True, True, True, True]
