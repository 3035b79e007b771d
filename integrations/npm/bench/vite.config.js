export default { base: "./", server: { fs: { allow: [".."] } } };
