import ipctk
import numpy as np

vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1]])
faces = np.array([[0, 1, 2]])
mesh = ipctk.CollisionMesh(vertices, ipctk.edges(faces), faces)
print(ipctk.compute_collision_free_stepsize(mesh, vertices, vertices * [1, 1, -1]))
