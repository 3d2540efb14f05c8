"""A map on a page in Chromium, and the explorer around it, as a person uses them."""


class MapOnPage:
    """A map on which a person drags the mouse."""

    def __init__(self, window, around):
        self.window, self.around = window, around
        around.wait_for(state="attached", timeout=120_000)

    def hold(self) -> None:
        """Find the frame of the map, which another city's map replaces."""
        maps = self.around.locator("iframe:not(.snhkit-open iframe)")
        self.frame = maps.element_handle().content_frame()
        self.frame.wait_for_selector(".leaflet-draw-draw-rectangle", state="attached")

    def drag(self, *points: tuple[float, float]) -> None:
        mouse = self.window.mouse
        mouse.move(*points[0])
        mouse.down()
        for point in points[1:]:
            mouse.move(*point, steps=4)
        self.window.wait_for_timeout(100)  # a map that is let go in motion glides on
        mouse.up()

    def draw(self, *corners: tuple[float, float]) -> None:
        """Draw a box between two places, as shares of the map's width and height."""
        self.frame.locator(".leaflet-draw-draw-rectangle").click()
        at = self.frame.locator(".leaflet-container").first.bounding_box()
        first, last = ((at["x"] + u * at["width"], at["y"] + v * at["height"]) for u, v in corners)
        self.drag(first, ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2), last)

    def rows(self, count: int | None = None) -> list[list[str]]:
        """Return the texts of the table of answers, once it has so many boxes."""
        if count is not None:
            self.window.wait_for_function(
                "([around, n]) => around.querySelectorAll('.snhkit-answers tbody th').length === n",
                arg=[self.around.element_handle(), count],
                timeout=20_000,
            )
        return self.around.locator(".snhkit-answers").evaluate(
            "(table) => [...table.rows].map((row) => [...row.cells].map((c) => c.innerText))"
        )
