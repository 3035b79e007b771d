// Storage nodes of three.js on existing GPU buffers.
import { REVISION, StorageBufferAttribute } from "three/webgpu";
import { storage } from "three/tsl";

/**
 * Returns an attribute that uses `buffer`, so that three.js neither creates nor uploads a buffer. three.js has no
 * public call for this, so this function checks that three.js behaves like revision 187.
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
 * Returns a storage node with `count` elements of `type` in a buffer of the renderer's device. `follow(buffer)` of the
 * node switches to another buffer from the next frame on.
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
