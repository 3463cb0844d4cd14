"""Rapier on a task: parts cut into convex pieces. Argument: bolt or peg. `run.sh` builds the program in `rapier/` first."""

import os
import subprocess
import sys
import tempfile

import numpy as np

import parts
from task import FRICTION, STEP_S, Task

PROGRAM = os.path.join(os.environ.get("CARGO_TARGET_DIR", "rapier/target"), "release/rapier-task")


def line(word, *numbers):
    return " ".join([word] + [repr(float(x)) for x in np.concatenate([np.ravel(n) for n in numbers])]) + "\n"


class Rapier:
    def __init__(self, task):
        text = line("step", STEP_S, FRICTION)
        text += line("body", task.mass, task.center, np.diag(task.inertia), task.start, task.turn)
        for word, name in zip(("moving", "fixed"), task.names):
            text += "".join(line(word, piece) for piece in parts.pieces(name))
        self.file = tempfile.NamedTemporaryFile("w", suffix=".txt")
        self.file.write(text)
        self.file.flush()
        command = [PROGRAM, self.file.name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.now = task.rotation, task.start, np.zeros(3), np.zeros(3)

    def step(self, force, torque):
        self.process.stdin.write(" ".join(repr(float(x)) for x in [*force, *torque]) + "\n")
        self.process.stdin.flush()
        x = np.array(self.process.stdout.readline().split(), float)
        self.now = x[:9].reshape(3, 3), x[9:12], x[12:15], x[15:18]
        return x[18]

    def state(self):
        return self.now


if __name__ == "__main__":
    task = Task(sys.argv[1])
    task.run(Rapier(task), "Rapier 0.36, convex pieces")
