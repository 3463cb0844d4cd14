"""All contacts of two meshes by FCL, pose by pose: the peer of `hapticd bench contact`.

usage: python fcl.py MOVING.obj FIXED.obj
Reads lines of twelve numbers, a rotation by rows and a shift of the moving mesh; answers each with the time that the query
took on the processor, ns, and the number of contacts.
"""
import sys
import time

import fcl
import numpy


def model(path):
    vertices, triangles = [], []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["v"]:
                vertices.append([float(x) for x in words[1:4]])
            elif words[:1] == ["f"]:
                triangles.append([int(x.split("/")[0]) - 1 for x in words[1:4]])
    made = fcl.BVHModel()
    made.beginModel(len(vertices), len(triangles))
    made.addSubModel(numpy.array(vertices), numpy.array(triangles))
    made.endModel()
    return made


moving, fixed = (fcl.CollisionObject(model(path)) for path in sys.argv[1:3])
print("ready", flush=True)
for line in sys.stdin:
    numbers = numpy.array([float(x) for x in line.split()])
    moving.setTransform(fcl.Transform(numbers[:9].reshape(3, 3), numbers[9:]))
    request = fcl.CollisionRequest(num_max_contacts=100000, enable_contact=True)
    result = fcl.CollisionResult()
    start = time.thread_time_ns()
    fcl.collide(moving, fixed, request, result)
    print(time.thread_time_ns() - start, len(result.contacts), flush=True)
