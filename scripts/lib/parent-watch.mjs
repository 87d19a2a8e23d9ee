// Preloaded into every node process that the commands start (NODE_OPTIONS=--import): a process whose parent is gone,
// even killed with -9, ends. Each generation watches the one above it.
const started = Number(process.env.PARENT_WATCH_PID ?? process.ppid);
delete process.env.PARENT_WATCH_PID; // it names the parent of this process, not of those that this one starts

const timer = setInterval(() => {
  if (process.ppid === started) return;
  clearInterval(timer);
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 1_500).unref();
}, 100).unref();
