"""What Clearhead needs of Streamlit that is not public, all of it: a fault mended in what it sends to a browser, the
types of what st.container and st.Page return, and the browser that opens on somebody's own machine."""
from streamlit import cli_util
from streamlit.delta_generator import DeltaGenerator as DeltaGenerator
from streamlit.navigation.page import StreamlitPage as StreamlitPage
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.web.server import server_util


def keep_order() -> None:
    """Has a fragment that runs again send what its last run left unsent before what is new.

    Streamlit 1.67 drops those messages (ForwardMsgQueue.clear), but keeps among them the references to what a browser
    has already, as they do not say which fragment they are of. They then come to places that the browser does not have,
    and the whole page ends with "Bad delta path" or "Cannot set a node at a delta path": on a busy machine within a
    minute, where a fragment runs every second. """
    clear = ForwardMsgQueue.clear
    if clear.__name__ == "cleared":
        return

    def cleared(queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False,
                fragment_ids_this_run: list[str] | None = None) -> None:
        if retain_lifecycle_msgs and fragment_ids_this_run:
            queue._delta_index_map = {}   # what is new comes after it, never in its place
        else:
            clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)

    ForwardMsgQueue.clear = cleared   # type: ignore[method-assign]


def open_browser() -> None:
    """Opens this server's page in a browser of this machine, as Streamlit does for any script."""
    cli_util.open_browser(server_util.get_url("localhost"))
