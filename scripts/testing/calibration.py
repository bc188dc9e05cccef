"""The figures of `trefoil calibrate` by another program: NumPy counts every comparison of the bundled sets again.

`calibration.py TREFOIL` runs that program on the sets, and fails where a threshold or a count differs. Written from the protocol in
bench/data/README.md; it shares no code with the program.
"""

import json
import pathlib
import subprocess
import sys

import numpy

DATA = pathlib.Path(__file__).parents[2] / "bench/data"
SETS = ["lfw_facenet128", "lfw_arcface512", "lfw_dlib128"]


def unit(rows):
    return rows / numpy.sqrt((rows * rows).sum(axis=-1, keepdims=True))


def experiment(x, y, photographs):
    """Scores before and after quantising, and which of them are of one person."""
    people = list(dict.fromkeys(y.tolist()))
    rows = {person: numpy.flatnonzero(y == person) for person in people}
    people = [person for person in people if len(rows[person]) > photographs or photographs == 1]
    templates, probes = [], []
    for person in people:
        first = rows[person][:photographs]
        mean = x[first[0]] if photographs == 1 else unit(unit(x[first].astype(numpy.float64)).sum(axis=0))
        templates.append(mean.astype(numpy.float32))
        probes += [(row, person) for row in rows[person][photographs:]]
    own = numpy.array([[person == other for other in people] for _, person in probes])
    a, b = unit(x[[row for row, _ in probes]].astype(numpy.float64)), unit(numpy.array(templates, numpy.float64))
    padded = next(width for width in (128, 256, 512) if width >= x.shape[1])
    scale = int(32768**0.5 - padded**0.5 / 2)
    # Halves are rounded away from zero.
    quantised = [(numpy.sign(v) * numpy.floor(abs(scale * v) + 0.5)).astype(numpy.int64) for v in (a, b)]
    return (a @ b.T, quantised[0] @ quantised[1].T), own


def classes(scores, own):
    """For each class the smallest score with its rate, and what it refuses and accepts."""
    right, strangers = scores[own], numpy.sort(scores[~own])[::-1]
    for k in (2, 3, 4):
        highest_refused = strangers[len(strangers) // 10**k]
        yield highest_refused, int((right <= highest_refused).sum()), int((strangers > highest_refused).sum())


def main(program):
    compared = 0
    for name in SETS:
        x, y = DATA / name / "x.npy", DATA / name / "y.npy"
        answer = subprocess.run(
            [program, "calibrate", "--x", x, "--y", y, "--json"], check=True, stdout=subprocess.PIPE
        ).stdout
        for found in json.loads(answer)["experiments"]:
            (vectors, quantised), own = experiment(numpy.load(x), numpy.load(y), found["photographs"])
            for kind, scores in (("vectors", vectors), ("quantised", quantised)):
                assert found[kind]["own"] == own.sum() and found[kind]["strangers"] == (~own).sum(), name
                for theirs, (below, refused, accepted) in zip(found[kind]["classes"], classes(scores, own)):
                    where = f"{name}, {found['photographs']} at enrolment, {kind}, {theirs}"
                    if kind == "vectors":
                        assert abs((theirs["score"] - 1) / 2**30 - below) < 2**-29, f"{where}: {below}"
                    else:
                        assert theirs["score"] == below + 1, f"{where}: {below + 1}"
                    assert (theirs["refused"], theirs["accepted"]) == (refused, accepted), f"{where}: {refused}, {accepted}"
                    compared += 1
    print(f"{compared} thresholds, with what they refuse and accept")


main(sys.argv[1])
