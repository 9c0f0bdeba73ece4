"""What every picture has to be: no larger than a screen, no empty panel, readable legends, units in labels."""

import itertools

MOST_ENTRIES = 14
WITHOUT_UNIT = {
    *("cost", "stopping value", "decrease", "cost of a knot", "cost terms and their sums (◆ terminal)"),
    *("stationarity", "violation", "complementarity", "merit decrease"),
}


def check_screen(figure, *, unitless=()):
    """Asserts all that can be read back from a figure.

    Args:
        figure: The figure.
        unitless: Labels that have no unit, as it is not known.
    """
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    assert width <= 1400
    assert height <= 900
    legends = [*all_legends(figure)]
    for legend in legends:
        assert len(legend.get_texts()) <= MOST_ENTRIES, [text.get_text() for text in legend.get_texts()]
    assert figure.axes
    for axes in figure.axes:
        check_panel(axes, {*WITHOUT_UNIT, *unitless})


def all_legends(figure):
    yield from figure.legends
    for part in figure.subfigs:
        yield from all_legends(part)
    if hasattr(figure, "subfigs"):
        yield from (axes.get_legend() for axes in figure.axes if axes.get_legend())


def check_panel(axes, unitless):
    drawn = [*axes.lines, *axes.collections, *axes.patches, *axes.images]
    assert any(artist.get_visible() for artist in drawn), f"nothing in {axes.get_ylabel()!r} {axes.get_title()!r}"
    words = {axes.get_title(loc="left"), axes.get_ylabel(), axes.get_xlabel()} - {""}
    rows = [text.get_text() for text in axes.get_yticklabels()]
    assert any("[" in text or text in unitless for text in words) or any(map(str.isalpha, rows)), words
    if axes.get_ylabel() and axes.name != "3d":
        assert "[" in axes.get_ylabel() or axes.get_ylabel() in unitless, axes.get_ylabel()
    if axes.name == "3d":
        return
    low, high = sorted(axes.get_xlim())
    boxes = [
        label.get_window_extent()
        for place, label in zip(axes.get_xticks(), axes.get_xticklabels())
        if label.get_text() and label.get_visible() and low <= place <= high
    ]
    for left, right in itertools.pairwise(boxes):
        assert left.x1 <= right.x0 + 1, f"ticks of {axes.get_xlabel()!r} overlap"
