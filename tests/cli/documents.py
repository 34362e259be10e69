"""Reading what `--json` prints, and what it should say."""

import json

PARR = 7.201039921204691  # the optimal value


def document(text):
    """The one JSON document that a text is."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
