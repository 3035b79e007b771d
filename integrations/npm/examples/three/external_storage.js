// Storage nodes of three.js over buffers that three.js did not make.
import { StorageBufferAttribute } from "three/webgpu";
import { storage } from "three/tsl";

/** An attribute whose buffer is there already. three.js makes none then, and uploads nothing. */
function attributeOver(renderer, buffer) {
    const attribute = new StorageBufferAttribute(new Uint32Array(4), 1);
    // What three.js keeps of an attribute. It has no public call for this.
    renderer.backend.get(attribute).buffer = buffer;
    return attribute;
}

/**
 * A storage node with `count` elements of a type over a buffer of the renderer's device. `follow(buffer)` lets it read
 * another buffer from the next frame on.
 */
export function externalStorage(renderer, buffer, type, count) {
    const node = storage(attributeOver(renderer, buffer), type, count);
    let current = buffer;
    node.follow = (next) => {
        if (next !== current) {
            current = next;
            node.value = attributeOver(renderer, next);
        }
    };
    return node;
}
