// The engines that are measured. Each takes the moved boxes of a frame and returns pairs and closest hits as arrays.
import RAPIER from "@dimforge/rapier3d-compat";
import { BroadPhase } from "gpu-broad-phase";
import { Box3, BufferAttribute, BufferGeometry, Matrix4, Ray, Vector3 } from "three";
import { MeshBVH } from "three-mesh-bvh";

class Own {
    constructor(broadPhase) {
        this.broadPhase = broadPhase;
        this.set = broadPhase.createQuerySet();
    }

    async pairs(boxes) {
        this.broadPhase.step({ objects: boxes });
        return this.broadPhase.readPairs();
    }

    async rays(rays) {
        this.set.query({ rays });
        return (await this.set.readRayHits()).t;
    }

    end() {
        this.broadPhase.dispose();
    }
}

/** A mesh with one triangle per box, which has the same bounds. Each frame refits the triangle tree. */
class Triangles {
    #bvh;
    #positions;
    #boxes;
    #rebuilds;

    constructor(rebuilds) {
        this.#rebuilds = rebuilds;
    }

    #fit(boxes) {
        const count = boxes.length / 6;
        this.#boxes = boxes;
        this.#positions ??= new Float32Array(9 * count);
        for (let box = 0; box < count; box += 1) {
            const [x, y, z, right, top, front] = boxes.subarray(6 * box, 6 * box + 6);
            this.#positions.set([x, y, z, right, top, front, x, top, z], 9 * box);
        }
        if (this.#bvh === undefined || this.#rebuilds) {
            const geometry = new BufferGeometry();
            geometry.setAttribute("position", new BufferAttribute(this.#positions, 3));
            this.#bvh = new MeshBVH(geometry);
        } else {
            this.#bvh.refit();
        }
    }

    async pairs(boxes) {
        this.#fit(boxes);
        const index = this.#bvh.geometry.index.array;
        const found = [];
        const intersectsRanges = (first, count, otherFirst, otherCount) => {
            for (let one = first; one < first + count; one += 1) {
                const a = index[3 * one] / 3;
                for (let other = otherFirst; other < otherFirst + otherCount; other += 1) {
                    const b = index[3 * other] / 3;
                    if (a < b && overlap(boxes, a, b)) {
                        found.push(a, b);
                    }
                }
            }
            return false;
        };
        this.#bvh.bvhcast(this.#bvh, new Matrix4(), { intersectsRanges });
        return Uint32Array.from(found);
    }

    async rays(rays) {
        const index = this.#bvh.geometry.index.array;
        const [ray, point, box] = [new Ray(), new Vector3(), new Box3()];
        const found = new Float32Array(rays.length / 7);
        for (let each = 0; each < found.length; each += 1) {
            ray.origin.fromArray(rays, 7 * each);
            ray.direction.fromArray(rays, 7 * each + 3);
            let nearest = Infinity;
            const distance = (bounds) => {
                if (bounds.containsPoint(ray.origin)) return 0;
                return ray.intersectBox(bounds, point) === null ? Infinity : point.distanceTo(ray.origin);
            };
            this.#bvh.shapecast({
                boundsTraverseOrder: distance,
                intersectsBounds: (_bounds, _isLeaf, score) => score < nearest,
                intersectsRange: (first, count) => {
                    for (let triangle = first; triangle < first + count; triangle += 1) {
                        const at = 2 * index[3 * triangle];
                        box.min.fromArray(this.#boxes, at);
                        box.max.fromArray(this.#boxes, at + 3);
                        nearest = Math.min(nearest, distance(box));
                    }
                    return false;
                },
            });
            found[each] = nearest;
        }
        return found;
    }

    end() {}
}

/** Rapier finds pairs of sensors on kinematic bodies without solving contacts. */
class Rapier {
    #world = new RAPIER.World({ x: 0, y: 0, z: 0 });
    #bodies = [];
    #colliders = [];
    #numbers = new Map();

    async pairs(boxes) {
        for (let box = 0; box < boxes.length / 6; box += 1) {
            const [x, y, z, right, top, front] = boxes.subarray(6 * box, 6 * box + 6);
            const center = { x: (x + right) / 2, y: (y + top) / 2, z: (z + front) / 2 };
            if (this.#bodies[box] !== undefined) {
                this.#bodies[box].setTranslation(center, true);
                continue;
            }
            const kind = RAPIER.RigidBodyDesc.kinematicPositionBased().setTranslation(center.x, center.y, center.z);
            const body = this.#world.createRigidBody(kind);
            const shape = RAPIER.ColliderDesc.cuboid((right - x) / 2, (top - y) / 2, (front - z) / 2);
            shape.setSensor(true).setActiveCollisionTypes(RAPIER.ActiveCollisionTypes.ALL);
            const collider = this.#world.createCollider(shape, body);
            this.#bodies.push(body);
            this.#colliders.push(collider);
            this.#numbers.set(collider.handle, box);
        }
        this.#world.step();
        const found = [];
        for (const [a, collider] of this.#colliders.entries()) {
            this.#world.intersectionPairsWith(collider, (other) => {
                const b = this.#numbers.get(other.handle);
                if (a < b) {
                    found.push(a, b);
                }
            });
        }
        return Uint32Array.from(found);
    }

    async rays(rays) {
        const found = new Float32Array(rays.length / 7);
        for (let ray = 0; ray < found.length; ray += 1) {
            const [x, y, z, right, up, forth] = rays.subarray(7 * ray, 7 * ray + 6);
            const cast = new RAPIER.Ray({ x, y, z }, { x: right, y: up, z: forth });
            found[ray] = this.#world.castRay(cast, 1e30, true)?.timeOfImpact ?? Infinity;
        }
        return found;
    }

    end() {
        this.#world.free();
    }
}

function overlap(boxes, a, b) {
    const [i, j] = [6 * a, 6 * b];
    return (
        boxes[i] <= boxes[j + 3] &&
        boxes[j] <= boxes[i + 3] &&
        boxes[i + 1] <= boxes[j + 4] &&
        boxes[j + 1] <= boxes[i + 4] &&
        boxes[i + 2] <= boxes[j + 5] &&
        boxes[j + 2] <= boxes[i + 5]
    );
}

export const ENGINES = {
    "gpu-broad-phase": async () => new Own(await BroadPhase.create()),
    "gpu-broad-phase, cpu: true": async () => new Own(await BroadPhase.create({ cpu: true })),
    "three-mesh-bvh, built anew": async () => new Triangles(true),
    "three-mesh-bvh, refitted": async () => new Triangles(false),
    "rapier3d-compat": async () => {
        await RAPIER.init();
        return new Rapier();
    },
};
