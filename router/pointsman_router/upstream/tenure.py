"""Terms with one upstream for as long as they are in force, and what is still out in them."""

from pointsman_router.upstream.era import Terms


class Tenure:
    """Terms that are or were in force."""

    __slots__ = ("is_lost", "is_over", "out", "terms")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.out = 0
        """How many requests were sent in them whose answers are still to come."""
        self.is_over = False
        self.is_lost = False
        """The upstream itself has forgotten them."""
