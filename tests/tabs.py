"""Pages of the browser, each as in a new one and yet soon there."""


class Tabs:
    """Gives pages, and takes them back. A page in a new profile compiles all of Streamlit's code, for 5 s of the
    processor; these share one profile, in which an empty page keeps the process and its compiled code alive. What a
    page has stored goes with it; of two pages that are open together each has a profile of its own. """

    def __init__(self, browser):
        self.browser, self.free = browser, []

    def take(self, width: int = 1440, height: int = 900, scheme: str = "light"):
        page = (self.free.pop() if self.free else self._profile()).new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        return page

    def _profile(self):
        context = self.browser.new_context(accept_downloads=True)
        context.new_page()   # stays
        return context

    def give_back(self, page, address: str) -> None:
        """Closes a page, and those it has opened, of the server at this address."""
        context = page.context
        empty, *others = context.pages
        for each in others:
            each.close()
        empty.goto(address + "/_stcore/health")   # text of the same site, which may forget what the page has stored
        empty.evaluate("() => localStorage.clear()")
        context.clear_cookies()
        self.free.append(context)
