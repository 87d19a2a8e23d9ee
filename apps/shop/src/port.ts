/** The port that a variable names, or the default. */
export function portFromEnv(variable: string, otherwise: number): number {
  const text = process.env[variable] ?? '';
  const port = text === '' ? otherwise : Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(`${variable} must be a port from 1 to 65535, not "${text}".`);
  }
  return port;
}

/** Names the variable to change if the port is in use; returns any other error unchanged. */
export function whyNotListening(error: unknown, variable: string, port: number): unknown {
  const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return isInUse ? new Error(`Port ${port} is in use. Set ${variable} to a free one.`) : error;
}
