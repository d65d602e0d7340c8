"""Values as files: text, JSON, and the bytes that base64 stands for."""

from __future__ import annotations

import base64

import pytest

from extproxy.content import Binary, Broken, as_json, binary
from extproxy.lookup import find
from extproxy.protocols.paths import parse_path

PNG = b"\x89PNG\r\n\x1a\n\x00"
TEXT = base64.b64encode(PNG).decode()
IS_PNG = Binary(PNG, "image/png")


@pytest.mark.parametrize(
    ("frame", "path", "held"),
    [
        ({"content": [{"type": "image", "data": TEXT, "mime_type": "image/png"}]}, "content[0].data", IS_PNG),
        ({"content": [{"type": "image", "data": TEXT, "mimeType": "image/png"}]}, "content[0]", IS_PNG),
        ({"resource": {"uri": "x:", "blob": TEXT, "mimeType": "image/png"}}, "resource.blob", IS_PNG),
        ({"c": {"type": "resource", "resource": {"blob": TEXT, "mimeType": "image/png"}}}, "c", IS_PNG),
        ({"c": {"source": {"type": "base64", "media_type": "image/png", "data": TEXT}}}, "c", IS_PNG),
        ({"url": f"data:image/png;base64,{TEXT}"}, "url", IS_PNG),
        ({"url": f"data:image/png;name=a.png;base64,{TEXT}"}, "url", IS_PNG),
        ({"c": {"data": "no base64!", "mime_type": "image/png"}}, "c.data", Broken("image/png")),
        ({"c": {"data": TEXT[:-1], "mime_type": "image/png"}}, "c", Broken("image/png")),
        ({"c": {"data": TEXT}}, "c.data", None),
        ({"c": {"data": TEXT, "mime_type": "png"}}, "c.data", None),
        ({"c": {"text": TEXT, "mime_type": "text/plain"}}, "c.text", None),
        ({"c": {"text": TEXT, "mime_type": "text/plain"}}, "c", None),
        ({"c": {"data": 7, "mime_type": "image/png"}}, "c.data", None),
        ({"c": 7}, "c", None),
    ],
)
def test_base64_is_known_by_the_media_type_beside_it(frame, path, held):
    (place,) = find(frame, parse_path(path))
    assert binary(place) == held


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("image/png", ".png"), ("IMAGE/JPEG", ".jpg"), ("application/x-own", ".bin"), ("../../x", ".bin")],
)
def test_the_ending_of_a_file_follows_the_type(kind, suffix):
    assert Binary(b"", kind).suffix == suffix


def test_json_is_one_line_in_its_own_letters():
    assert as_json({"a": ["é\n", 1.0, None]}) == '{"a":["é\\n",1.0,null]}'
    assert as_json(10**5000) == "null"
