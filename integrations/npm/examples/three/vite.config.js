export default {
    // Of this repository alone: the package lies beside the example, not in its node_modules.
    server: { fs: { allow: ["../.."] } },
    // Paths that are relative work under any address.
    base: "./",
};
