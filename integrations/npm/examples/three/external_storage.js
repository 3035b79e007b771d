// Storage nodes of three.js over buffers that three.js did not make.
import { REVISION, StorageBufferAttribute } from "three/webgpu";
import { storage } from "three/tsl";

/**
 * An attribute whose buffer is there already. three.js makes none then, and uploads nothing. It has no public call for
 * this, so it is checked that it did as its revision 187 does.
 */
function attributeOver({ backend }, buffer) {
    const attribute = new StorageBufferAttribute(new Uint32Array(4), 1);
    const kept = backend?.get?.(attribute) ?? {};
    kept.buffer = buffer;
    backend?.createStorageAttribute?.(attribute);
    if (backend?.get?.(attribute) !== kept || Object.keys(kept).join() !== "buffer" || kept.buffer !== buffer) {
        throw new Error(
            `three.js ${REVISION} keeps buffers of attributes in another way than 187: see external_storage.js`,
        );
    }
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
