/** A port from the environment; says which variable is wrong. */
export function readPort(name: string, otherwise: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new Error(`${name} must be a port number, not "${text}"`);
  return port;
}
