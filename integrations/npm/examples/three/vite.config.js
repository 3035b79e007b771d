export default {
    // Needed only in this repository, where the package is not in node_modules but two folders up.
    server: { fs: { allow: ["../.."] } },
    // Relative paths work under any address.
    base: "./",
};
