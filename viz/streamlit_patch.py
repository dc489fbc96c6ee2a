"""A fault of Streamlit's in what it sends to a browser, mended when the server starts."""
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue


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
