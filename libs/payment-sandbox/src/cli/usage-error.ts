/** The command line, or the environment behind it, is wrong. */
export class UsageError extends Error {}
