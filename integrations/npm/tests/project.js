import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Creates a folder with the packed package and files, until this process ends. */
export function project(files) {
    const folder = mkdtempSync(join(tmpdir(), "gpu-broad-phase-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
    const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
        cwd: root,
        encoding: "utf8",
    });
    const target = join(folder, "node_modules/gpu-broad-phase");
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["-xzf", join(folder, packed.trim()), "-C", target, "--strip-components=1"]);
    for (const [name, text] of Object.entries({
        "package.json": '{ "type": "module" }',
        ...files,
    })) {
        writeFileSync(join(folder, name), text);
    }
    return folder;
}
