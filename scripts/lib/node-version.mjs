// Imported before anything else by every command, so that an old Node says so instead of failing on something newer.
const wanted = [20, 19];
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < wanted[0] || (major === wanted[0] && minor < wanted[1])) {
  console.error(`Node ${wanted.join('.')} or newer is needed; this is Node ${process.versions.node}.`);
  process.exit(1);
}
