"""A fault fires once, at the occasion that was asked for."""

from speckv_debug.collectors.reference.faults.shot import Shot, wrap


def test_it_fires_once_at_its_occasion_and_remembers_where() -> None:
    shot = Shot(occasion=2)
    assert [shot.due(step, "a") for step in range(5)] == [False, True, False, False, False]
    assert (shot.step, shot.request, shot.seen) == (1, "a", 5)


def test_without_an_occasion_nothing_was_done() -> None:
    shot = Shot()
    shot.due(1, "a")
    assert not shot.fired


def test_wrap_replaces_the_method_of_one_object() -> None:
    class Adder:
        def add(self, x: int) -> int:
            return x + 1

    one, other = Adder(), Adder()
    wrap(one, "add", lambda add: lambda x: add(x) * 10)
    assert (one.add(1), other.add(1)) == (20, 2)
