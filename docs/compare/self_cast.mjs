import { BufferAttribute, BufferGeometry, Matrix4 } from "three";
import { MeshBVH } from "three-mesh-bvh";

const corners = Float32Array.from([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
const tree = new MeshBVH(new BufferGeometry().setAttribute("position", new BufferAttribute(corners, 3)));
tree.bvhcast(tree, new Matrix4(), { intersectsTriangles: (first, second, i, j) => console.log(i, j) });
