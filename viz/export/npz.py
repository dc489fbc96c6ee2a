"""NPZ: the weights of all heads for numpy. The provenance is its entry "provenance".

Arrays as `model.core.npz.write_npz` names them: float32 KIND (layer, head, query, key), padded with
NaN where head counts differ, with queries_KIND and keys_KIND. These are the model's own weights, whatever the view
filters; the view is in the provenance. """
import io
import math

from model.core.npz import write_npz
from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export import Format
from viz.print.options import PLAIN, Options

FORMAT = Format("NPZ", ".npz", "application/octet-stream", ("numbers",), "the weights of all heads, for numpy")
LIMIT = 512 * 2**20   # bytes of weights in one file; it is made in memory, because a download needs it whole


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The weights of every head of every kind. Raises UserError above LIMIT, before anything is computed."""
    size = 4 * sum(len(each.layers) * max(math.prod(layer.shape) for layer in each.layers) for each in record.maps)
    if size > LIMIT:
        raise UserError(f"The weights of all heads would be {size / 2**20:,.0f} MB and the limit is "
                        f"{LIMIT / 2**20:,.0f} MB; "
                        "export one head as CSV, or use a shorter text.")
    target = io.BytesIO()
    write_npz(record, target, provenance.dumps(record, view, options.link))
    return target.getvalue()
