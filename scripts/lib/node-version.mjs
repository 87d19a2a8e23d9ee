// Imported before anything else by every command, so that an old Node says so instead of failing on something newer.
const wanted = /** @type {const} */ ([20, 19]);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < wanted[0] || (major === wanted[0] && minor < wanted[1])) {
  console.error(`Node ${wanted.join('.')} or newer is needed; this is Node ${process.versions.node}.`);
  process.exit(1);
}
