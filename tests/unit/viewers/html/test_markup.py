"""Text from a recording can't become markup, in elements, attributes or data blocks."""

import json

from speckv_debug.viewers.html.markup import Html, data_block, element, table, text
from tests.reported import HOSTILE


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert text("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"
    assert text(Html("<b>")) == "<b>"


def test_control_and_direction_characters_become_visible() -> None:
    assert text("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"


def test_attributes_are_escaped_and_named_in_html() -> None:
    made = element("a", "x", class_="a b", data_figure='"><script>', hidden=True, title=None, open=False)
    assert made == '<a class="a b" data-figure="&quot;&gt;&lt;script&gt;" hidden>x</a>'


def test_markup_is_escaped_in_an_attribute_too() -> None:
    made = element("a", title=Html('"><img src=x onerror=run()>'))
    assert made == '<a title="&quot;&gt;&lt;img src=x onerror=run()&gt;"></a>'


def test_children_that_were_joined_by_hand_lose_their_trust() -> None:
    assert element("p", str(Html("<b>")) + "") == "<p>&lt;b&gt;</p>"


def test_a_data_block_holds_no_character_that_ends_it() -> None:
    block = data_block("figures", {"name": HOSTILE})
    body = block.removeprefix('<script type="application/json" id="figures">').removesuffix("</script>")
    assert body.isascii()
    assert not set("<>&") & set(body)
    assert json.loads(body) == {"name": HOSTILE}


def test_a_data_block_has_its_keys_in_order() -> None:
    assert data_block("d", {"b": 1, "a": 2}) == data_block("d", {"a": 2, "b": 1})


def test_a_marked_row_carries_a_mark_that_needs_no_colour() -> None:
    grid = table(("k", "slot"), [(0, 42080), (1, None)], marked=(1,))
    assert (
        '<tr class="marked"><td class="mark">✗</td><td class="number">1</td><td class="none">–</td></tr>'
        in grid
    )
    assert '<tr><td class="mark"></td><td class="number">0</td>' in grid


def test_a_table_scrolls_in_a_box_that_the_keyboard_reaches() -> None:
    assert table(("a",), []).startswith('<div class="scroll" role="region" tabindex="0" aria-label="a">')
