"""Candidates become a tree: the best ones, in order of depth, linked by first child and next sibling."""

from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.collectors.reference.draft_tree import ancestors, link_tree


def test_the_best_candidates_are_linked_in_sibling_order() -> None:
    # candidates: two children of the root, two children of each of them
    tree = link_tree([0.6, 0.4, 0.5, 0.05, 0.3, 0.02], [-1, -1, 0, 0, 1, 1], 5)
    assert tree.chosen == [0, 1, 2, 4]
    assert tree.parents == [-1, 0, 0, 1, 2]
    assert tree.depths == [0, 1, 1, 2, 2]
    assert tree.next_token == [1, 3, 4, -1, -1]
    assert tree.next_sibling == [-1, 2, -1, -1, -1]


def test_equal_scores_keep_a_parent_before_its_child() -> None:
    tree = link_tree([1.0, 1.0, 1.0], [-1, 0, 1], 3)
    assert tree.parents == [-1, 0, 1]


@st.composite
def candidates(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    """A scored forest in which children score below their parents."""
    scores, parents = list[float](), list[int]()
    for index in range(draw(st.integers(1, 14))):
        parent = draw(st.integers(-1, index - 1))
        above = 1.0 if parent == -1 else scores[parent]
        scores.append(above * draw(st.floats(0.01, 0.99)))
        parents.append(parent)
    return scores, parents


@given(candidates(), st.data())
def test_links_parents_and_depths_tell_one_story(
    forest: tuple[list[float], list[int]], data: st.DataObject
) -> None:
    scores, parents = forest
    width = data.draw(st.integers(1, len(scores) + 1))
    tree = link_tree(scores, parents, width)
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(tree.parents[1:], start=1):
        children.setdefault(parent, []).append(row)
        assert parent < row
        assert tree.depths[row] == tree.depths[parent] + 1
    for row in range(width):
        walked, child = [], tree.next_token[row]
        while child != -1:
            walked.append(child)
            child = tree.next_sibling[child]
        assert walked == children.get(row, [])
    rest = set(range(len(scores))) - set(tree.chosen)
    assert all(scores[kept] >= scores[left] for kept in tree.chosen for left in rest)


def test_a_row_attends_to_itself_and_its_ancestors() -> None:
    sees = ancestors([-1, 0, 0, 1])
    assert [[j for j in range(4) if row[j]] for row in sees] == [[0], [0, 1], [0, 2], [0, 1, 3]]
