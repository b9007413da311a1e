"""Prints what zarr-python finds in a store, as JSON: by path, the attributes of each group and
array, and of arrays what they hold.
"""

import json
import sys

import zarr


def told(node):
    attributes = dict(node.attrs)
    if isinstance(node, zarr.Group):
        return {"attributes": attributes}
    data = node[...]
    fill = node.fill_value
    return {
        "attributes": attributes,
        "shape": list(node.shape),
        "chunks": list(node.chunks),
        "fill": "none" if fill is None else str(fill),
        "data": [str(value) for value in data.reshape(-1).tolist()],
    }


root = zarr.open_group(sys.argv[1], mode="r")
print(json.dumps({path: told(node) for path, node in root.members(max_depth=None)}))
