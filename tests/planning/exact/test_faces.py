"""When planning on faces pays."""

from types import SimpleNamespace

from rpsr.planning.exact import faces


def test_faces_pay_if_vectors_are_many_and_all_faces_small(monkeypatch):
    process = SimpleNamespace(k=100)
    many, few = faces.MANY_VECTORS + 1, faces.MANY_VECTORS
    for largest, vectors, expected in ((75, many, True), (75, few, False), (76, many, False)):
        monkeypatch.setattr(faces, "largest", lambda process, size=largest: size)
        assert faces.worth_it(process, vectors) is expected
