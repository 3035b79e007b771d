export default {
    // For this repository only: the package is beside the example, not in node_modules.
    server: { fs: { allow: ["../.."] } },
    // Relative paths work under any address.
    base: "./",
};
