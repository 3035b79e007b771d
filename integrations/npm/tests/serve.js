// A static file server on a free local port.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";

const TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".wasm": "application/wasm",
};

/** Serves folders under path prefixes, such as `{ "/": "dist" }`. Resolves to the server's address. */
export async function serve(folders) {
    const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
    const server = createServer((request, response) => {
        const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
        const prefix = prefixes.find((prefix) => path.startsWith(prefix));
        const folder = normalize(folders[prefix] ?? ".");
        const file = normalize(join(folder, path.slice(prefix?.length ?? 0)));
        const isInside = file === folder || file.startsWith(folder.endsWith(sep) ? folder : folder + sep);
        let found = isInside && statSync(file, { throwIfNoEntry: false });
        let name = file;
        if (found && found.isDirectory()) {
            name = join(file, "index.html");
            found = statSync(name, { throwIfNoEntry: false });
        }
        if (!found) {
            response.writeHead(404).end();
            return;
        }
        const type = TYPES[extname(name)] ?? "application/octet-stream";
        response.writeHead(200, { "content-type": type, "access-control-allow-origin": "*" });
        createReadStream(name).pipe(response);
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
