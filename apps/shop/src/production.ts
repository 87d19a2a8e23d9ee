/** Whether this is production, however it is written (`set NODE_ENV=production && …` leaves a space on Windows). */
export function isProduction(): boolean {
  return environment() === 'production';
}

/** Whether the environment says so: an environment that says nothing may be anybody's. */
export function isDevelopment(): boolean {
  return ['development', 'test'].includes(environment());
}

function environment(): string {
  return process.env.NODE_ENV?.trim().toLowerCase() ?? '';
}
