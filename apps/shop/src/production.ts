/** Whether this is production, however it is spelled (`set NODE_ENV=production && …` leaves a space on Windows). */
export function isProduction(): boolean {
  return environment() === 'production';
}

/** Only if NODE_ENV says so: without it, this may be production. */
export function isDevelopment(): boolean {
  return ['development', 'test'].includes(environment());
}

function environment(): string {
  return process.env.NODE_ENV?.trim().toLowerCase() ?? '';
}
