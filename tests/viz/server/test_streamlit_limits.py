"""A public server's limits on what Streamlit keeps."""
import inspect

from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from clearhead.viz.server.streamlit_limits import RECORD, bound_uploads


def test_streamlit_keeps_uploads_within_limits_newest_first(monkeypatch):
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", inspect.unwrap(MemoryUploadedFileManager.add_file))
    bound_uploads(2 * (1000 + RECORD), 3 * (1000 + RECORD))
    files = MemoryUploadedFileManager("/upload")

    def put(session: str, *names: str) -> None:
        for name in names:
            files.add_file(session, UploadedFileRec(name, name, "x", b"x" * 1000))

    def there() -> str:
        return " ".join(f"{session}:{''.join(some)}" for session, some in files.file_storage.items() if some)

    put("one", "a", "b", "c")
    assert there() == "one:bc"
    put("two", "d", "e")
    assert there() == "one:c two:de" and files._total_bytes == 3000
    files.remove_file("two", "d")
    files.remove_session_files("one")
    put("three", "f")   # what has gone takes no room
    put("two", "g")
    assert there() == "two:eg three:f"
    put("two", "g")     # the same file again is one file
    assert there() == "two:eg three:f"
