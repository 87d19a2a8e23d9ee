/** Whether this is production, however it is written (`set NODE_ENV=production && …` leaves a space on Windows). */
export function isProduction(): boolean {
  return process.env.NODE_ENV?.trim().toLowerCase() === 'production';
}
