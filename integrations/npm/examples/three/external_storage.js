// three.js storage nodes over existing buffers.
import { REVISION, StorageBufferAttribute } from "three/webgpu";
import { storage } from "three/tsl";

/**
 * An attribute with an existing buffer, so that three.js neither creates nor uploads one. There is no public call for
 * this, so it checks for the behaviour of revision 187.
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
 * A storage node with `count` elements of `type` over a buffer of the renderer's device. `follow(buffer)` switches to
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
