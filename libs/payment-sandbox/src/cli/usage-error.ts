/** The command line or the environment is wrong. */
export class UsageError extends Error {}
