"""What every picture has to be: no larger than a screen, no empty panel, readable texts, units in labels."""

from tests.support.texts import check_texts

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
    check_texts(figure)
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
