"""Browser pages that are as clean as in a new profile, but start quickly."""

# Streamlit's placeholders shine while a page waits; without a GPU, this takes as much processor time as the page itself
STILL = """const still = new CSSStyleSheet();
still.replaceSync("[data-testid^=stSkeleton] { animation: none !important; }");
document.adoptedStyleSheets.push(still);"""


class Tabs:
    """A pool of browser pages. In a new profile, compiling Streamlit's code takes 5 s of processor time, so profiles
    are reused; an empty page in each keeps the process and its compiled code alive. A page's stored data is deleted
    when it is given back, and pages that are open at the same time have separate profiles."""

    def __init__(self, browser):
        self.browser, self.free = browser, []

    def take(self, width: int = 1440, height: int = 900, scheme: str = "light"):
        page = (self.free.pop() if self.free else self._profile()).new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        return page

    def _profile(self):
        context = self.browser.new_context(accept_downloads=True)
        context.add_init_script(STILL)
        context.new_page()   # keeps the process alive
        return context

    def give_back(self, page, address: str) -> None:
        """Close a page and the pages that it opened. address: of the page's server."""
        context = page.context
        empty, *others = context.pages
        for each in others:
            each.close()
        empty.goto(address + "/_stcore/health")   # a page of the same origin, which can clear its storage
        empty.evaluate("() => localStorage.clear()")
        context.clear_cookies()
        self.free.append(context)
