"""Reading what `--json` prints."""

import json


def document(text):
    """The one JSON document that a text is."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
